-- The client that started a session, as its User-Agent names it, and the network it came from.
ALTER TABLE sessions ADD COLUMN client TEXT;
ALTER TABLE sessions ADD COLUMN network TEXT;
DROP INDEX sessions_by_user;
CREATE INDEX sessions_by_user ON sessions (user_id, last_used_at);
CREATE INDEX sessions_by_age ON sessions (created_at);

-- One-time codes that set a new password. A row is deleted when its code is used.
CREATE TABLE recovery_codes (
    code_hash BLOB NOT NULL PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX recovery_codes_by_user ON recovery_codes (user_id);

-- What users say about themselves; NULL if nothing.
ALTER TABLE users ADD COLUMN display_name TEXT;
ALTER TABLE users ADD COLUMN bio TEXT;
ALTER TABLE users ADD COLUMN link TEXT;
