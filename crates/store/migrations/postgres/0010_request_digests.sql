-- The digest of the request that used the key; NULL for one from before this column, or of a node without it.
ALTER TABLE idempotency_keys ADD COLUMN digest BYTEA;
