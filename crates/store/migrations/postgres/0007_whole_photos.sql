-- The point that the squares of a photo are cut around; NULL for the centre. Posts repeat it.
ALTER TABLE photos ADD COLUMN focus BIGINT;
ALTER TABLE posts
    ADD COLUMN focus BIGINT,
    -- 1 if everyone may download the original.
    ADD COLUMN share_original BIGINT NOT NULL DEFAULT 0;
