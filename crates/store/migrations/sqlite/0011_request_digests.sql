-- The digest of the request that used the key; NULL for one from before this column.
ALTER TABLE idempotency_keys ADD COLUMN digest BLOB;
