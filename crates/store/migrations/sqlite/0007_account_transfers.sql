-- Exports that users may download.
CREATE TABLE account_exports (
    user_id INTEGER NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL
) STRICT;

-- The last import of each user. Without `finished_at` it is running, or a crash has interrupted it.
CREATE TABLE account_imports (
    user_id INTEGER NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    started_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    finished_at INTEGER,
    total INTEGER NOT NULL,
    imported INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    error TEXT
) STRICT;

-- The posts that imports have created, by the photo id that the post had where it was first published. A row
-- outlives its post, so that an import does not create a deleted post again.
CREATE TABLE imported_posts (
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    source_id BLOB NOT NULL,
    post_id INTEGER NOT NULL,
    PRIMARY KEY (user_id, source_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX imported_posts_by_post ON imported_posts (post_id);

-- What a moderator has removed is shown to the user.
CREATE INDEX audit_log_by_username ON audit_log (username, id);
