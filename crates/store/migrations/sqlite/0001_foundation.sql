-- Times are microseconds since 1970 in UTC. Ids of users and posts are never reused.

CREATE TABLE photos (
    id BLOB NOT NULL PRIMARY KEY,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    placeholder BLOB NOT NULL,
    bytes INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    username TEXT NOT NULL,
    username_key TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    photo_id BLOB REFERENCES photos (id),
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX users_by_photo ON users (photo_id);

CREATE TABLE sessions (
    token_hash BLOB NOT NULL PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_use ON sessions (last_used_at);

CREATE TABLE posts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users (id),
    photo_id BLOB NOT NULL UNIQUE REFERENCES photos (id),
    message TEXT,
    like_count INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX posts_by_user ON posts (user_id, id);
-- Rows of posts are wide; counting to an offset needs only their ids.
CREATE INDEX posts_by_id ON posts (id);

CREATE TABLE likes (
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    post_id INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, post_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX likes_by_post ON likes (post_id);

-- The post that an upload with an idempotency key created. It outlives the post, so that a late retry does
-- not create the post again.
CREATE TABLE idempotency_keys (
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    post_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- Photos whose files may exist although no post or user references them yet: claimed before the first byte is
-- written.
CREATE TABLE uploads (
    photo_id BLOB NOT NULL PRIMARY KEY,
    started_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_by_age ON uploads (started_at);

-- Photos whose files must be deleted: inserted in the transaction that deletes the photo, deleted after the
-- files.
CREATE TABLE removals (
    photo_id BLOB NOT NULL PRIMARY KEY,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX removals_by_age ON removals (since);
