-- The owner who has made a reset link; NULL for the operator, and for the user's own recovery codes.
ALTER TABLE recovery_codes ADD COLUMN made_by BIGINT REFERENCES users (id) ON DELETE CASCADE;
CREATE INDEX recovery_codes_by_maker ON recovery_codes (made_by);
