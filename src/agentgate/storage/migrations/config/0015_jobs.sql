-- Timed jobs: who may run them until when, and when each was last run (and, if the clock jumped, until when it waits).
CREATE TABLE job_lease (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE TABLE job_run (
    name TEXT PRIMARY KEY,
    last_ms BIGINT NOT NULL,
    held_until_ms BIGINT NOT NULL DEFAULT 0
);
-- What jobs look for: messages that still have a body, and entries about people that stand in no account's trail.
CREATE INDEX outbox_with_body ON outbox_message (created_ms) WHERE body IS NOT NULL;
CREATE INDEX audit_by_target ON audit_entry (target) WHERE account_id IS NULL AND site_id IS NULL;
CREATE INDEX audit_by_actor ON audit_entry (actor) WHERE account_id IS NULL AND site_id IS NULL;
-- The highest number that a purged site ever had: numbers are never given twice, or a new site would show its traffic.
CREATE TABLE site_number (last BIGINT NOT NULL);
INSERT INTO site_number (last) VALUES (0);
