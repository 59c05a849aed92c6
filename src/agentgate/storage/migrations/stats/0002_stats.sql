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
-- The words of events: each text once, under a small number. Only bounded texts come here.
CREATE TABLE dictionary (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (kind, value)
);
-- Days whose events are rolled up below. `events` is how many there were: a day that has another number by now is
-- done again.
CREATE TABLE segment (
    day INTEGER PRIMARY KEY,
    events BIGINT NOT NULL,
    closed_ms BIGINT NOT NULL
);
-- Hourly counts of what leaves no event: calls of siteverify, refused origins, tokens given out and redeemed.
CREATE TABLE counter_hour (
    site BIGINT NOT NULL,
    hour BIGINT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    counted BIGINT NOT NULL,
    PRIMARY KEY (site, hour, name, value)
);
-- Feature vectors of decisions, where a site captures them: numbers for training, never content.
CREATE TABLE feature_vector (
    site BIGINT NOT NULL,
    id BIGINT NOT NULL,
    features TEXT NOT NULL,
    PRIMARY KEY (site, id)
);
