-- The network that an account joined from, as a number; NULL if no request made the account.
ALTER TABLE users ADD COLUMN network BIGINT;
