-- What a user may do. The reason of a suspension is shown to the user.
ALTER TABLE users ADD COLUMN role TEXT NOT NULL DEFAULT 'member'
    CHECK (role IN ('member', 'moderator', 'owner'));
ALTER TABLE users ADD COLUMN status TEXT NOT NULL DEFAULT 'active'
    CHECK (status IN ('active', 'pending', 'suspended', 'hidden', 'deleted'));
ALTER TABLE users ADD COLUMN status_reason TEXT;
-- Users whose posts are not shown, and those who are being deleted.
CREATE INDEX users_by_status ON users (status, id) WHERE status <> 'active';
CREATE INDEX users_by_role ON users (role, id) WHERE role <> 'member';

-- Why a moderator has hidden a post; NULL if it is shown. An offset counts the posts that are shown.
ALTER TABLE posts ADD COLUMN hidden_reason TEXT;
DROP INDEX posts_by_id;
CREATE INDEX posts_shown ON posts (id) WHERE hidden_reason IS NULL;
CREATE INDEX posts_hidden ON posts (id) WHERE hidden_reason IS NOT NULL;

-- Users whose posts and names are left out of the lists of `user_id`.
CREATE TABLE blocks (
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    blocked_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, blocked_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX blocks_by_blocked ON blocks (blocked_id, user_id);

-- Posts that are left out of the lists of `user_id`.
CREATE TABLE hidden_posts (
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    post_id INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, post_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX hidden_posts_by_post ON hidden_posts (post_id);

-- A report of a user, or of one of their posts, which may be deleted since.
CREATE TABLE reports (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    reporter_id INTEGER REFERENCES users (id) ON DELETE SET NULL,
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    post_id INTEGER,
    reason TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    resolved_at INTEGER,
    resolution TEXT
) STRICT;
CREATE INDEX reports_open ON reports (id) WHERE resolved_at IS NULL;
CREATE INDEX reports_resolved ON reports (id) WHERE resolved_at IS NOT NULL;
CREATE INDEX reports_by_reporter ON reports (reporter_id, user_id);
CREATE INDEX reports_by_user ON reports (user_id);

-- What moderators, owners and operators have done. Usernames instead of references: it outlives the users.
CREATE TABLE audit_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    created_at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    network TEXT,
    action TEXT NOT NULL,
    username TEXT,
    post_id INTEGER,
    detail TEXT
) STRICT;
CREATE TRIGGER audit_log_update BEFORE UPDATE ON audit_log
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_log_delete BEFORE DELETE ON audit_log
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

-- Links that allow to join. `role` is that of the new user.
CREATE TABLE invitations (
    code_hash BLOB NOT NULL PRIMARY KEY,
    user_id INTEGER REFERENCES users (id) ON DELETE CASCADE,
    role TEXT NOT NULL CHECK (role IN ('member', 'moderator', 'owner')),
    uses INTEGER NOT NULL,
    max_uses INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_by_user ON invitations (user_id);
CREATE INDEX invitations_by_expiry ON invitations (expires_at);

-- What owners set: name, description, rules, registration, quotas.
CREATE TABLE instance_settings (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A code that an operator has made expires.
ALTER TABLE recovery_codes ADD COLUMN expires_at INTEGER;
