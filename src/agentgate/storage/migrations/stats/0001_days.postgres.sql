-- Closed days. `sources` is how many visitors the day had.
CREATE TABLE site_day (
    site BIGINT NOT NULL,
    day INTEGER NOT NULL,
    requests BIGINT NOT NULL,
    allowed BIGINT NOT NULL,
    challenged BIGINT NOT NULL,
    blocked BIGINT NOT NULL,
    dropped BIGINT NOT NULL,
    would_challenge BIGINT NOT NULL,
    would_block BIGINT NOT NULL,
    would_drop BIGINT NOT NULL,
    challenges_issued BIGINT NOT NULL,
    challenges_passed BIGINT NOT NULL,
    challenges_failed BIGINT NOT NULL,
    duration_us BIGINT NOT NULL,
    errors BIGINT NOT NULL,
    last_event_ms BIGINT NOT NULL,
    sources BIGINT NOT NULL,
    PRIMARY KEY (site, day)
);
CREATE TABLE dimension_day (
    site BIGINT NOT NULL,
    day INTEGER NOT NULL,
    dimension SMALLINT NOT NULL,
    value INTEGER NOT NULL,
    events BIGINT NOT NULL,
    PRIMARY KEY (site, day, dimension, value) INCLUDE (events)
);
CREATE TABLE visitor_day (
    site BIGINT NOT NULL,
    day INTEGER NOT NULL,
    visitor BIGINT NOT NULL,
    first_id BIGINT NOT NULL,
    last_id BIGINT NOT NULL,
    requests BIGINT NOT NULL,
    allowed BIGINT NOT NULL,
    challenged BIGINT NOT NULL,
    blocked BIGINT NOT NULL,
    dropped BIGINT NOT NULL,
    monitored BIGINT NOT NULL,
    challenges BIGINT NOT NULL,
    challenges_passed BIGINT NOT NULL,
    actions TEXT NOT NULL,
    agents TEXT NOT NULL,
    PRIMARY KEY (site, visitor, day)
);
CREATE INDEX visitor_day_by_last ON visitor_day (site, day, last_id) INCLUDE (visitor);
-- The 2,048 smallest visitor numbers of a site's day, eight bytes each: exact up to that many, an estimate above.
CREATE TABLE source_sketch (
    site BIGINT NOT NULL,
    day INTEGER NOT NULL,
    smallest BYTEA NOT NULL,
    PRIMARY KEY (site, day)
);
