-- Where a site's decisions and changes of health are pushed to. The secrets are sealed. `account_id` is the account that
-- chose the address: a site that has moved pushes nothing until its new account says so.
CREATE TABLE webhook (
    id TEXT PRIMARY KEY,
    site_id TEXT NOT NULL REFERENCES site (id),
    account_id TEXT NOT NULL,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    format TEXT NOT NULL CHECK (format IN ('json', 'ndjson')),
    filter TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    secret BYTEA NOT NULL,
    replaced_secret BYTEA,
    replaced_until_ms BIGINT,
    created_ms BIGINT NOT NULL,
    -- How far it got. `position` is the last decision told or passed over; a batch is fixed before it is first sent.
    revision BIGINT NOT NULL DEFAULT 0,
    position BIGINT NOT NULL,
    batch_id TEXT,
    batch_until BIGINT,
    health_told TEXT,
    health_id TEXT,
    health_next TEXT,
    health_body BYTEA,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_ms BIGINT NOT NULL,
    failing_since_ms BIGINT,
    last_delivery_ms BIGINT,
    last_error TEXT
);
CREATE INDEX webhook_by_site ON webhook (site_id, created_ms);
CREATE INDEX webhook_due ON webhook (enabled, next_attempt_ms);

-- The newest deliveries of each webhook, for people who look for a mistake.
CREATE TABLE webhook_delivery (
    id TEXT PRIMARY KEY,
    site_id TEXT NOT NULL REFERENCES site (id),
    webhook_id TEXT NOT NULL REFERENCES webhook (id),
    kind TEXT NOT NULL,
    time_ms BIGINT NOT NULL,
    items INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    status INTEGER,
    duration_ms BIGINT NOT NULL,
    error TEXT
);
CREATE INDEX webhook_delivery_by_age ON webhook_delivery (webhook_id, time_ms);
