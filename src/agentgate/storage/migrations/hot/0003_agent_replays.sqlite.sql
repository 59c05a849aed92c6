-- Signatures of agents that were accepted, until they have expired. A row is what keeps one from being used again.
CREATE TABLE agent_replay (
    replay_key BLOB NOT NULL PRIMARY KEY,
    kept_until_ms BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX agent_replay_by_end ON agent_replay (kept_until_ms);
