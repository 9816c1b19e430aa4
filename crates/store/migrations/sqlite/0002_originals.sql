-- Format and EXIF orientation (1 to 8) of the original, which is stored without its metadata. Both are NULL
-- if it is not stored, as for every photo from before this migration.
ALTER TABLE photos ADD COLUMN original TEXT;
ALTER TABLE photos ADD COLUMN orientation INTEGER CHECK ((orientation IS NULL) = (original IS NULL));
