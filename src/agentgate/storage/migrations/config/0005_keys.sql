-- The service's keys, one per purpose and time, sealed under the root secret.
CREATE TABLE service_key (
    id TEXT PRIMARY KEY,
    purpose TEXT NOT NULL,
    sealed BYTEA NOT NULL,
    created_ms BIGINT NOT NULL,
    active_ms BIGINT NOT NULL,
    retired_ms BIGINT
);
