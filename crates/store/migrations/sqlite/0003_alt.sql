-- The alt text of a photo; NULL if it has none.
ALTER TABLE photos ADD COLUMN alt TEXT;
