-- Credentials of a hosting provider: one for the proxies of all sites of an account. Secrets are here as digests only.
CREATE TABLE fleet_credential (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES account (id),
    name TEXT NOT NULL,
    unknown_hosts TEXT NOT NULL,
    secret_digest BYTEA NOT NULL UNIQUE,
    created_ms BIGINT NOT NULL,
    revoked_ms BIGINT,
    last_used_ms BIGINT
);
CREATE INDEX fleet_credential_by_account ON fleet_credential (account_id, created_ms);
CREATE INDEX fleet_credential_by_end ON fleet_credential (revoked_ms) WHERE revoked_ms IS NOT NULL;
