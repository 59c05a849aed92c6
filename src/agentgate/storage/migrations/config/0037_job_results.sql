-- How the last run of each timed job ended, for operators: when it began, how long it took, and the kind of failure.
CREATE TABLE job_result (
    name TEXT PRIMARY KEY,
    started_ms BIGINT NOT NULL,
    took_ms BIGINT NOT NULL,
    failure TEXT NOT NULL DEFAULT ''
);
