-- Every revision of a site's rules, so that a decision's rule can still be shown after it was changed.
CREATE TABLE rule_revision (
    site_id TEXT NOT NULL REFERENCES site (id),
    revision INTEGER NOT NULL,
    rule_set TEXT,
    overrides TEXT NOT NULL,
    effective_version TEXT NOT NULL,
    updated_ms BIGINT NOT NULL,
    updated_by TEXT NOT NULL,
    PRIMARY KEY (site_id, revision)
);

-- A number that grows with every change of what decides: sites, rules, models. Workers compare it and read anew.
CREATE TABLE configuration_version (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version BIGINT NOT NULL
);
INSERT INTO configuration_version (id, version) VALUES (1, 0);

-- Which worker holds which number, so that no two workers make the same decision ID.
CREATE TABLE worker_number (
    number INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_ms BIGINT NOT NULL
);
