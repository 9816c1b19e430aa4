-- The posts of the last day, for the quota of posts a day. A row outlives its post: deleting makes no room.
CREATE TABLE counted_posts (
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    post_id INTEGER NOT NULL,
    PRIMARY KEY (user_id, created_at, post_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX counted_posts_by_time ON counted_posts (created_at);
INSERT INTO counted_posts (user_id, created_at, post_id)
    SELECT p.user_id, ph.created_at, p.id FROM posts p JOIN photos ph ON ph.id = p.photo_id
    WHERE ph.created_at > (unixepoch() - 86400) * 1000000;
