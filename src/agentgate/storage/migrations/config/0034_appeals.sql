-- What refused people say, once for each decision, and what the owners answered. Of a link only the digest is kept.
CREATE TABLE appeal (
    id TEXT PRIMARY KEY,
    site_id TEXT NOT NULL REFERENCES site (id),
    link_digest TEXT NOT NULL UNIQUE,
    decision BIGINT NOT NULL,
    visitor TEXT NOT NULL,
    outcome TEXT NOT NULL,
    method TEXT NOT NULL,
    route TEXT NOT NULL,
    rule TEXT,
    message TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'suspect', 'let_in', 'refused', 'spam')),
    created_ms BIGINT NOT NULL,
    answered_ms BIGINT,
    answered_by TEXT,
    reply TEXT NOT NULL,
    entry_id TEXT,
    label TEXT,
    UNIQUE (site_id, decision)
);
CREATE INDEX appeal_by_state ON appeal (site_id, state, created_ms, id);
CREATE INDEX appeal_by_age ON appeal (created_ms);
