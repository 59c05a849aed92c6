-- The audit trail: added to, read, never changed. The two dialects differ only in how a number is counted up.
CREATE TABLE audit_entry (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time_ms BIGINT NOT NULL,
    actor TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    action TEXT NOT NULL,
    account_id TEXT,
    site_id TEXT,
    target TEXT,
    detail TEXT NOT NULL,
    address TEXT
);
CREATE INDEX audit_by_site ON audit_entry (site_id, id) WHERE site_id IS NOT NULL;
CREATE INDEX audit_by_account ON audit_entry (account_id, id) WHERE account_id IS NOT NULL;
