-- People who asked for an account.
CREATE TABLE access_request (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    company TEXT,
    message TEXT,
    status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'declined')),
    created_ms BIGINT NOT NULL,
    decided_ms BIGINT,
    decided_by TEXT
);
CREATE INDEX access_request_by_age ON access_request (status, created_ms);
