-- Operators' sessions. What the cookie carries is here as a digest only.
CREATE TABLE operator_session (
    secret_digest BYTEA PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    operator TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    last_used_ms BIGINT NOT NULL,
    ended_ms BIGINT
);
CREATE INDEX operator_session_by_age ON operator_session (created_ms);
