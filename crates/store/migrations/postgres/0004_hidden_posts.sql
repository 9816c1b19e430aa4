-- Why a moderator has hidden a post; NULL if it is shown. An offset counts the posts that are shown.
ALTER TABLE posts ADD COLUMN hidden_reason TEXT;
CREATE INDEX posts_shown ON posts (id) WHERE hidden_reason IS NULL;
CREATE INDEX posts_hidden ON posts (id) WHERE hidden_reason IS NOT NULL;
