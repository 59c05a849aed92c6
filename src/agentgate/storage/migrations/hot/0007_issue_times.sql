-- The floor compares issue times: an expiry depends on the token lifetime that is set.
ALTER TABLE redemption ADD COLUMN issued_ms BIGINT NOT NULL DEFAULT 0;
-- Nodes of the release before still read doubt_until_ms, so that column stays.
ALTER TABLE spend_floor ADD COLUMN lost_ms BIGINT NOT NULL DEFAULT 0;
-- The loss was at least one lifetime (10 s or more) and 24 hours before.
UPDATE spend_floor SET lost_ms = doubt_until_ms - 86410000 WHERE doubt_until_ms > 0;
