-- What agents submitted and the service accepted: the answer is given again to whoever repeats the submission.
-- Of the content only a hash is here.
CREATE TABLE submission (
    site_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    id TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    answer BLOB NOT NULL,
    kept_until_ms BIGINT NOT NULL,
    PRIMARY KEY (site_id, agent, id)
) WITHOUT ROWID;
CREATE INDEX submission_by_end ON submission (kept_until_ms);

-- The ledger: what agents owe sites. A decision is charged once.
CREATE TABLE charge (
    site_id TEXT NOT NULL,
    decision_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    keyid TEXT NOT NULL,
    source TEXT NOT NULL,
    action TEXT,
    currency TEXT NOT NULL,
    minor_units BIGINT NOT NULL,
    charged_ms BIGINT NOT NULL,
    PRIMARY KEY (site_id, decision_id)
) WITHOUT ROWID;
CREATE INDEX charge_by_time ON charge (site_id, charged_ms);
CREATE INDEX charge_by_age ON charge (charged_ms);
