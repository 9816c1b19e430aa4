-- The client that started a session, as its User-Agent names it, and the network it came from.
ALTER TABLE sessions ADD COLUMN client TEXT, ADD COLUMN network TEXT;
DROP INDEX sessions_by_user;
CREATE INDEX sessions_by_user ON sessions (user_id, last_used_at);
CREATE INDEX sessions_by_age ON sessions (created_at);

-- One-time codes that set a new password. A row is deleted when its code is used.
CREATE TABLE recovery_codes (
    code_hash BYTEA NOT NULL PRIMARY KEY,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL
);
CREATE INDEX recovery_codes_by_user ON recovery_codes (user_id);

-- What users say about themselves; NULL if nothing.
ALTER TABLE users ADD COLUMN display_name TEXT, ADD COLUMN bio TEXT, ADD COLUMN link TEXT;

-- For the list of users who like a post.
DROP INDEX likes_by_post;
CREATE INDEX likes_by_post ON likes (post_id, user_id);
