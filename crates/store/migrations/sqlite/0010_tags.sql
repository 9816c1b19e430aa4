-- The tags in the messages of posts, in lower case. An empty tag marks a post whose tags are not indexed yet.
CREATE TABLE post_tags (
    tag TEXT NOT NULL,
    post_id INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    PRIMARY KEY (tag, post_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX post_tags_by_post ON post_tags (post_id);
INSERT INTO post_tags (tag, post_id) SELECT '', id FROM posts WHERE message LIKE '%#%';
