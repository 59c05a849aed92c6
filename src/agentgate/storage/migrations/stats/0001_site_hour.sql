-- One row per site and hour (hours since 1970): the source of every count that a page shows first.
CREATE TABLE site_hour (
    site BIGINT NOT NULL,
    hour BIGINT NOT NULL,
    requests BIGINT NOT NULL DEFAULT 0,
    allowed BIGINT NOT NULL DEFAULT 0,
    challenged BIGINT NOT NULL DEFAULT 0,
    blocked BIGINT NOT NULL DEFAULT 0,
    dropped BIGINT NOT NULL DEFAULT 0,
    would_challenge BIGINT NOT NULL DEFAULT 0,
    would_block BIGINT NOT NULL DEFAULT 0,
    would_drop BIGINT NOT NULL DEFAULT 0,
    challenges_issued BIGINT NOT NULL DEFAULT 0,
    challenges_passed BIGINT NOT NULL DEFAULT 0,
    challenges_failed BIGINT NOT NULL DEFAULT 0,
    duration_us BIGINT NOT NULL DEFAULT 0,
    errors BIGINT NOT NULL DEFAULT 0,
    last_event_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (site, hour)
);
