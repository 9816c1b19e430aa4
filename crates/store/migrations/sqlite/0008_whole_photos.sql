-- The point that the squares of a photo are cut around; NULL for the centre. Posts repeat it.
ALTER TABLE photos ADD COLUMN focus INTEGER;
ALTER TABLE posts ADD COLUMN focus INTEGER;
-- 1 if everyone may download the original.
ALTER TABLE posts ADD COLUMN share_original INTEGER NOT NULL DEFAULT 0;
