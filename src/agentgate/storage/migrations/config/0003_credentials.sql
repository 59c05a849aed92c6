-- Backend credentials. Secrets are here as SHA-256 digests only.
CREATE TABLE credential (
    id TEXT PRIMARY KEY,
    site_id TEXT NOT NULL REFERENCES site (id),
    name TEXT NOT NULL,
    secret_digest BYTEA NOT NULL UNIQUE,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    revoked_ms BIGINT,
    last_used_ms BIGINT
);
CREATE INDEX credential_by_site ON credential (site_id, created_ms);
