-- Whom a site lets in or keeps out by name, before any rule, with a note and a term. `value` is in its canonical form.
CREATE TABLE site_list_entry (
    id TEXT PRIMARY KEY,
    site_id TEXT NOT NULL REFERENCES site (id),
    kind TEXT NOT NULL CHECK (kind IN ('address', 'network', 'program', 'agent', 'visitor')),
    value TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('allow', 'block')),
    note TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    expires_ms BIGINT,
    UNIQUE (site_id, kind, value)
);
CREATE INDEX site_list_entry_by_site ON site_list_entry (site_id, created_ms);
