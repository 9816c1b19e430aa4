-- Names of accounts that were suspended when they were deleted, in lower case. No one may join under them.
CREATE TABLE held_names (
    username_key TEXT NOT NULL PRIMARY KEY,
    held_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
