-- Refused requests of programs, in groups, with masked paths; and whether a site collects them.
CREATE TABLE suggestion (
    id TEXT PRIMARY KEY,
    site_id TEXT NOT NULL REFERENCES site (id),
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    program TEXT NOT NULL,
    sender TEXT NOT NULL,
    owner TEXT NOT NULL,
    proven INTEGER NOT NULL,
    requests BIGINT NOT NULL,
    networks TEXT NOT NULL,
    first_ms BIGINT NOT NULL,
    last_ms BIGINT NOT NULL,
    accepted_ms BIGINT,
    accepted_by TEXT,
    opened TEXT,
    UNIQUE (site_id, method, path, program, sender, owner, proven)
);
CREATE INDEX suggestion_by_age ON suggestion (last_ms);
ALTER TABLE site ADD COLUMN suggestions INTEGER NOT NULL DEFAULT 1;
