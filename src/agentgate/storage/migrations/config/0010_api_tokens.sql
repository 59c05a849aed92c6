-- API tokens of accounts, as digests.
CREATE TABLE api_token (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES account (id),
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    secret_digest BYTEA NOT NULL UNIQUE,
    created_ms BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    expires_ms BIGINT,
    revoked_ms BIGINT,
    last_used_ms BIGINT
);
CREATE INDEX api_token_by_account ON api_token (account_id, created_ms);
