-- Rules that a site has for itself; a site without a row follows the server's.
CREATE TABLE site_rules (
    site_id TEXT PRIMARY KEY REFERENCES site (id),
    revision INTEGER NOT NULL,
    rule_set TEXT,
    overrides TEXT NOT NULL,
    effective_version TEXT NOT NULL,
    updated_ms BIGINT NOT NULL,
    updated_by TEXT NOT NULL
);
