-- Accounts can be suspended and deleted, and may ask two-factor authentication of all members.
ALTER TABLE account ADD COLUMN require_mfa INTEGER NOT NULL DEFAULT 0;
ALTER TABLE account ADD COLUMN suspended_reason TEXT;
ALTER TABLE account ADD COLUMN deleted_ms BIGINT;
CREATE INDEX account_by_age ON account (created_ms);
