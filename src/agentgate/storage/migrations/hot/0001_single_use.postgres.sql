-- Receipts that were spent: by siteverify, by the gateway, by a handoff. A row is the only proof of it.
-- The answer is there when the call can be repeated, which takes a request ID.
CREATE TABLE redemption (
    site_id TEXT NOT NULL,
    receipt_id TEXT NOT NULL,
    request_id TEXT,
    answer BYTEA,
    kept_until_ms BIGINT NOT NULL,
    -- An expiry depends on the token lifetime that is set, so spends are compared by issue time.
    issued_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (site_id, receipt_id)
);
CREATE INDEX redemption_by_end ON redemption (kept_until_ms);
-- Signatures of agents that were accepted, until they have expired. A row is what keeps one from being used again.
CREATE TABLE agent_replay (
    replay_key BYTEA NOT NULL PRIMARY KEY,
    kept_until_ms BIGINT NOT NULL
);
CREATE INDEX agent_replay_by_end ON agent_replay (kept_until_ms);
-- What agents submitted and the service accepted: the answer is given again to whoever repeats the submission.
-- Of the content only a hash is here.
CREATE TABLE submission (
    site_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    id TEXT NOT NULL,
    content_hash BYTEA NOT NULL,
    answer BYTEA NOT NULL,
    kept_until_ms BIGINT NOT NULL,
    PRIMARY KEY (site_id, agent, id)
);
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
);
CREATE INDEX charge_by_age ON charge (charged_ms);
CREATE INDEX charge_by_time ON charge (site_id, charged_ms, agent, currency, source, action, minor_units);
