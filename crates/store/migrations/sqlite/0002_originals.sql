-- What was uploaded, without its metadata, lies beside the squares: in which format, and how to turn it (as in EXIF, 1 to 8).
-- Both are null where it is not kept, as for every photo from before this step.
ALTER TABLE photos ADD COLUMN original TEXT;
ALTER TABLE photos ADD COLUMN orientation INTEGER CHECK ((orientation IS NULL) = (original IS NULL));
