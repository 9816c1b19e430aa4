-- The tags in the messages of posts, in lower case. An empty tag marks a post whose tags are not indexed yet.
CREATE TABLE post_tags (
    tag TEXT COLLATE "C" NOT NULL,
    post_id BIGINT NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    PRIMARY KEY (tag, post_id)
);
CREATE INDEX post_tags_by_post ON post_tags (post_id);

-- Nodes of an earlier version create and edit posts while nodes are upgraded one by one. Before the posts are
-- marked, so that none is left out between the two.
CREATE FUNCTION mark_tags_unindexed() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO post_tags (tag, post_id) VALUES ('', NEW.id) ON CONFLICT DO NOTHING; RETURN NULL; END $$;
CREATE TRIGGER tags_of_new_posts AFTER INSERT ON posts FOR EACH ROW
    WHEN (NEW.message LIKE '%#%') EXECUTE FUNCTION mark_tags_unindexed();
CREATE TRIGGER tags_of_edited_posts AFTER UPDATE OF message ON posts FOR EACH ROW
    WHEN (OLD.message LIKE '%#%' OR NEW.message LIKE '%#%') EXECUTE FUNCTION mark_tags_unindexed();
INSERT INTO post_tags (tag, post_id) SELECT '', id FROM posts WHERE message LIKE '%#%';
