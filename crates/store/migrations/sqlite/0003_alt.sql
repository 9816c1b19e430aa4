-- What a photo shows, in words, for those who do not see it; null where nobody wrote any.
ALTER TABLE photos ADD COLUMN alt TEXT;
