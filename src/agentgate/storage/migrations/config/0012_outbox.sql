-- Messages to people. Bodies hold one-time links, so they are sealed, and cleared once the link is of no more use.
CREATE TABLE outbox_message (
    id TEXT PRIMARY KEY,
    recipient TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    body BYTEA,
    link_digest BYTEA,
    status TEXT NOT NULL CHECK (status IN ('pending', 'sent', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_ms BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    sent_ms BIGINT,
    last_error TEXT
);
CREATE INDEX outbox_by_age ON outbox_message (created_ms);
CREATE INDEX outbox_due ON outbox_message (status, next_attempt_ms);
CREATE INDEX outbox_by_link ON outbox_message (link_digest) WHERE link_digest IS NOT NULL;
