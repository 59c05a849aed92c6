-- Receipts that were spent: by siteverify, by the gateway, by a handoff. A row is the only proof of it.
-- The answer is there when the call can be repeated, which takes a request ID.
CREATE TABLE redemption (
    site_id TEXT NOT NULL,
    receipt_id TEXT NOT NULL,
    request_id TEXT,
    answer BLOB,
    kept_until_ms BIGINT NOT NULL,
    PRIMARY KEY (site_id, receipt_id)
) WITHOUT ROWID;
CREATE INDEX redemption_by_end ON redemption (kept_until_ms);
