-- A post repeats columns of its photo, so that a page of the feed is read from one table. The alt text moves
-- to the post; photos keep it for profile photos only.
ALTER TABLE posts ADD COLUMN width INTEGER NOT NULL DEFAULT 0;
ALTER TABLE posts ADD COLUMN height INTEGER NOT NULL DEFAULT 0;
ALTER TABLE posts ADD COLUMN placeholder BLOB NOT NULL DEFAULT x'';
ALTER TABLE posts ADD COLUMN alt TEXT;
UPDATE posts SET (width, height, placeholder, alt) =
    (SELECT width, height, placeholder, alt FROM photos WHERE photos.id = posts.photo_id);
UPDATE photos SET alt = NULL WHERE alt IS NOT NULL AND id IN (SELECT photo_id FROM posts);
