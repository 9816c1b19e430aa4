-- Exports that users may download.
CREATE TABLE account_exports (
    user_id BIGINT NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL
);

-- The last import of each user. Without `finished_at` it is running, or a crash has interrupted it.
CREATE TABLE account_imports (
    user_id BIGINT NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    started_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    finished_at BIGINT,
    total BIGINT NOT NULL,
    imported BIGINT NOT NULL,
    skipped BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    error TEXT
);

-- The posts that imports have created, by the photo id that the post had where it was first published. A row
-- outlives its post, so that an import does not create a deleted post again.
CREATE TABLE imported_posts (
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    source_id UUID NOT NULL,
    post_id BIGINT NOT NULL,
    PRIMARY KEY (user_id, source_id)
);
CREATE INDEX imported_posts_by_post ON imported_posts (post_id);

-- What a moderator has removed is shown to the user.
CREATE INDEX audit_log_by_username ON audit_log (username, id);
