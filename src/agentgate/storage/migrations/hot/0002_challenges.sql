-- Challenges of the browser check, each for a few minutes. What may happen once happens to a row here.
CREATE TABLE challenge (
    id TEXT PRIMARY KEY,
    site BIGINT NOT NULL,
    action TEXT NOT NULL,
    origin TEXT NOT NULL,
    visitor TEXT NOT NULL,
    seed BYTEA NOT NULL,
    level INTEGER NOT NULL,
    widget TEXT NOT NULL,
    c_data TEXT,
    issued_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    stepped_ms BIGINT,
    used INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX challenge_by_expiry ON challenge (expires_ms);
