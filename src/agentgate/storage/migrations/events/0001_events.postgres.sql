-- Events and their label postings, one partition per UTC day: dropping a partition is how a day is forgotten.
-- Enumerations are small integers, texts are numbers from the dictionary (in `stats`). `site_hour` is that of `stats`.
CREATE TABLE event (
    id BIGINT NOT NULL,
    site BIGINT NOT NULL,
    visitor BIGINT,
    kind SMALLINT NOT NULL,
    mode SMALLINT NOT NULL,
    outcome SMALLINT NOT NULL,
    would SMALLINT,
    method INTEGER NOT NULL,
    route INTEGER NOT NULL,
    action INTEGER,
    status INTEGER NOT NULL,
    duration_us BIGINT NOT NULL,
    ruled SMALLINT NOT NULL,
    rule INTEGER,
    rule_set_version INTEGER,
    model_versions INTEGER,
    agent INTEGER,
    stage SMALLINT,
    solve_type SMALLINT,
    solve_ms BIGINT,
    error SMALLINT NOT NULL,
    reasons TEXT NOT NULL,
    labels TEXT NOT NULL,
    scores TEXT,
    shadow_scores TEXT,
    request_id TEXT,
    trace_id TEXT,
    PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE INDEX event_by_site ON event (site, id);
CREATE INDEX event_by_visitor ON event (site, visitor, id);
CREATE INDEX event_by_outcome ON event (site, outcome, id) WHERE outcome <> 0;
CREATE INDEX event_by_would ON event (site, would, id) WHERE would IS NOT NULL;
CREATE INDEX event_by_rule ON event (site, rule, id) WHERE rule IS NOT NULL;
CREATE INDEX event_by_action ON event (site, action, id) WHERE action IS NOT NULL;
CREATE INDEX event_by_challenge ON event (site, stage, id) WHERE stage IS NOT NULL;
CREATE INDEX event_by_request ON event (site, request_id) WHERE request_id IS NOT NULL;

CREATE TABLE event_label (
    site BIGINT NOT NULL,
    label INTEGER NOT NULL,
    id BIGINT NOT NULL,
    PRIMARY KEY (site, label, id)
) PARTITION BY RANGE (id);

-- Its rows are changed again and again within their hour; with room beside them, the index need not be.
CREATE TABLE dimension_hour (
    site BIGINT NOT NULL,
    hour BIGINT NOT NULL,
    dimension SMALLINT NOT NULL,
    value INTEGER NOT NULL,
    events BIGINT NOT NULL,
    PRIMARY KEY (site, hour, dimension, value)
) WITH (fillfactor = 50);
-- For closing a day and for forgetting one, which ask for all sites.
CREATE INDEX dimension_hour_by_hour ON dimension_hour (hour);
