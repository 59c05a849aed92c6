-- Issuers of private tokens (Privacy Pass) by name: the keys of their directories as a JSON list, when these were last
-- read, when the next attempt is due, and why the last one failed.
CREATE TABLE token_issuer (
    name TEXT PRIMARY KEY,
    keys TEXT NOT NULL DEFAULT '[]',
    read_ms BIGINT,
    asked_ms BIGINT NOT NULL,
    next_ms BIGINT NOT NULL,
    problem TEXT NOT NULL DEFAULT ''
);
