-- One file per UTC day. Everything that counts events lies beside them, so that one commit covers both.
-- Enumerations are small integers, texts are numbers from the dictionary (in `stats`).
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    site INTEGER NOT NULL,
    visitor INTEGER,
    kind INTEGER NOT NULL,
    mode INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    would INTEGER,
    method INTEGER NOT NULL,
    route INTEGER NOT NULL,
    action INTEGER,
    status INTEGER NOT NULL,
    duration_us INTEGER NOT NULL,
    ruled INTEGER NOT NULL,
    rule INTEGER,
    rule_set_version INTEGER,
    model_versions INTEGER,
    agent INTEGER,
    stage INTEGER,
    solve_type INTEGER,
    solve_ms INTEGER,
    error INTEGER NOT NULL,
    reasons TEXT NOT NULL,
    labels TEXT NOT NULL,
    scores TEXT,
    shadow_scores TEXT,
    request_id TEXT,
    trace_id TEXT
);
CREATE INDEX event_by_site ON event (site);
CREATE INDEX event_by_visitor ON event (site, visitor);
CREATE INDEX event_by_outcome ON event (site, outcome) WHERE outcome <> 0;
CREATE INDEX event_by_would ON event (site, would) WHERE would IS NOT NULL;
CREATE INDEX event_by_rule ON event (site, rule) WHERE rule IS NOT NULL;
CREATE INDEX event_by_action ON event (site, action) WHERE action IS NOT NULL;
CREATE INDEX event_by_challenge ON event (site, stage) WHERE stage IS NOT NULL;
CREATE INDEX event_by_request ON event (site, request_id) WHERE request_id IS NOT NULL;

CREATE TABLE event_label (
    site INTEGER NOT NULL,
    label INTEGER NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (site, label, id)
) WITHOUT ROWID;

CREATE TABLE site_hour (
    site INTEGER NOT NULL,
    hour INTEGER NOT NULL,
    requests INTEGER NOT NULL DEFAULT 0,
    allowed INTEGER NOT NULL DEFAULT 0,
    challenged INTEGER NOT NULL DEFAULT 0,
    blocked INTEGER NOT NULL DEFAULT 0,
    dropped INTEGER NOT NULL DEFAULT 0,
    would_challenge INTEGER NOT NULL DEFAULT 0,
    would_block INTEGER NOT NULL DEFAULT 0,
    would_drop INTEGER NOT NULL DEFAULT 0,
    challenges_issued INTEGER NOT NULL DEFAULT 0,
    challenges_passed INTEGER NOT NULL DEFAULT 0,
    challenges_failed INTEGER NOT NULL DEFAULT 0,
    duration_us INTEGER NOT NULL DEFAULT 0,
    errors INTEGER NOT NULL DEFAULT 0,
    last_event_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (site, hour)
) WITHOUT ROWID;

-- How often a value of a dimension occurred. Dimensions are numbered in events/records.py.
CREATE TABLE dimension_hour (
    site INTEGER NOT NULL,
    hour INTEGER NOT NULL,
    dimension INTEGER NOT NULL,
    value INTEGER NOT NULL,
    events INTEGER NOT NULL,
    PRIMARY KEY (site, hour, dimension, value)
) WITHOUT ROWID;
