-- Uploads that clients send in several requests. The id is that of the folder of the parts in the blob store.
CREATE TABLE resumable_uploads (
    id UUID NOT NULL PRIMARY KEY,
    -- Not deleted with the user: the parts have to be deleted first.
    user_id BIGINT NOT NULL REFERENCES users (id),
    content_type TEXT NOT NULL,
    -- The idempotency key of the post.
    key TEXT NOT NULL,
    received BIGINT NOT NULL,
    length BIGINT,
    -- Counts the requests that append; only the last one may.
    epoch BIGINT NOT NULL,
    is_complete BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX resumable_uploads_by_user ON resumable_uploads (user_id, expires_at);
CREATE INDEX resumable_uploads_by_expiry ON resumable_uploads (expires_at);

-- The parts of an upload, each a file in the blob store.
CREATE TABLE upload_parts (
    upload_id UUID NOT NULL REFERENCES resumable_uploads (id) ON DELETE CASCADE,
    start BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    PRIMARY KEY (upload_id, start)
);
