-- Challenges of the browser check, each for a few minutes. What may happen once happens to a row here.
CREATE TABLE challenge (
    id TEXT PRIMARY KEY,
    site BIGINT NOT NULL,
    action TEXT NOT NULL,
    origin TEXT NOT NULL,
    visitor TEXT NOT NULL,
    seed BYTEA NOT NULL,
    level INTEGER NOT NULL,
    widget TEXT NOT NULL,
    c_data TEXT,
    issued_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    stepped_ms BIGINT,
    used INTEGER NOT NULL DEFAULT 0,
    -- Each wrong answer to a step-up leads to another step-up of the same challenge.
    answers INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX challenge_by_expiry ON challenge (expires_ms);
-- Requests of agents that wait for a person, each for some minutes, and what people allowed agents beforehand.
-- request_key is what makes a request one of its kind; it is NULL once another handoff may take its place.
-- The summary goes when the person has decided, or when the time is over.
CREATE TABLE handoff (
    id TEXT PRIMARY KEY,
    request_key BYTEA UNIQUE,
    site BIGINT NOT NULL,
    agent TEXT NOT NULL,
    keyid TEXT NOT NULL,
    action TEXT NOT NULL,
    submission_id TEXT NOT NULL,
    content_digest TEXT NOT NULL,
    decision_id TEXT NOT NULL,
    user_code TEXT NOT NULL,
    summary TEXT,
    status TEXT NOT NULL,
    receipt_id TEXT NOT NULL,
    issued_ms BIGINT,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX handoff_by_expiry ON handoff (expires_ms);
CREATE TABLE agent_grant (
    id TEXT PRIMARY KEY,
    site BIGINT NOT NULL,
    agent TEXT NOT NULL,
    keyid TEXT NOT NULL,
    action TEXT NOT NULL,
    handoff_id TEXT NOT NULL,
    uses INTEGER NOT NULL,
    uses_left INTEGER NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    last_used_ms BIGINT,
    revoked_ms BIGINT
);
CREATE INDEX agent_grant_by_agent ON agent_grant (site, agent, keyid, action);
CREATE INDEX agent_grant_by_expiry ON agent_grant (expires_ms);
-- Spends that a store has lost: no receipt whose redemption need not be kept longer than this is accepted any more.
-- Every worker on every machine reads it, whoever noticed the loss.
CREATE TABLE spend_floor (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    lost_ms BIGINT NOT NULL DEFAULT 0
);
INSERT INTO spend_floor (id) VALUES (1);
CREATE INDEX agent_grant_by_site ON agent_grant (site, created_ms DESC, id);
