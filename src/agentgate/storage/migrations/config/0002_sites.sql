-- Protected sites. `number` is the small integer under which events know the site.
CREATE TABLE site (
    id TEXT PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    site_key TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL REFERENCES account (id),
    name TEXT NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('monitor', 'enforce')),
    widget_mode TEXT NOT NULL CHECK (widget_mode IN ('invisible', 'managed', 'interactive')),
    allowed_origins TEXT NOT NULL,
    actions TEXT NOT NULL,
    routes TEXT NOT NULL,
    agent_policy TEXT,
    created_ms BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL
);
CREATE INDEX site_by_account ON site (account_id, created_ms);
