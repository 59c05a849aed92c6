-- Named lists of networks, which rules refer to. `networks` is the packed form of `sites/lists/networks.py`; the key of
-- CrowdSec is encrypted.
CREATE TABLE network_list (
    site_id TEXT NOT NULL REFERENCES site (id),
    name TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('own', 'url', 'crowdsec')),
    url TEXT NOT NULL,
    key BYTEA,
    refresh_minutes INTEGER NOT NULL,
    note TEXT NOT NULL,
    networks BYTEA NOT NULL,
    count INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    revision BIGINT NOT NULL,
    etag TEXT NOT NULL,
    problem TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    changed_ms BIGINT NOT NULL,
    checked_ms BIGINT,
    due_ms BIGINT,
    PRIMARY KEY (site_id, name)
);
CREATE INDEX network_list_by_due ON network_list (due_ms) WHERE due_ms IS NOT NULL;
