-- What each transaction changed, so that every node can invalidate its caches. A node remembers the snapshot
-- that its caches are valid for, and selects the rows that were not visible in it. Rows are deleted after a
-- minute or two.
CREATE TABLE changes (
    xid XID8 NOT NULL DEFAULT pg_current_xact_id(),
    encoded BYTEA NOT NULL
);
CREATE INDEX changes_by_xid ON changes (xid);

-- One row. All rows of `changes` below `horizon` have been deleted. `timeline` is that of the primary: a
-- standby that has another one does not follow this primary.
CREATE TABLE change_log (
    horizon XID8 NOT NULL,
    timeline BIGINT NOT NULL
);
INSERT INTO change_log (horizon, timeline) VALUES ('0', 0);

-- A foreign key locks the rows that it references, for every like. Instead, a transaction that writes likes has
-- the advisory locks of their posts, like one that deletes a post.
ALTER TABLE likes DROP CONSTRAINT likes_user_id_fkey, DROP CONSTRAINT likes_post_id_fkey;
