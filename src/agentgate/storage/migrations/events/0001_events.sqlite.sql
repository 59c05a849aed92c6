-- One file per UTC day. Everything that counts events is stored with them, so that one commit covers both.
-- An event is a narrow row. Its other columns are a pattern, which many events of a day share. Enumerations are small
-- integers; texts are numbers from the dictionary (in `stats`).

-- Two patterns may be equal: several processes number theirs apart, and each remembers only so many.
CREATE TABLE pattern (
    number INTEGER PRIMARY KEY,
    site INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    mode INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    would INTEGER,
    method INTEGER NOT NULL,
    route INTEGER NOT NULL,
    action INTEGER,
    status INTEGER NOT NULL,
    ruled INTEGER NOT NULL,
    rule INTEGER,
    rule_set_version INTEGER,
    agent INTEGER,
    stage INTEGER,
    solve_type INTEGER,
    error INTEGER NOT NULL,
    reasons TEXT NOT NULL,
    labels TEXT NOT NULL,
    model_versions INTEGER,
    scores TEXT,
    shadow_scores TEXT
);

-- Changes whenever patterns are removed: processes then forget the numbers that they remember.
CREATE TABLE pattern_epoch (epoch INTEGER NOT NULL);
INSERT INTO pattern_epoch (epoch) VALUES (random());

-- A word is a number of the dictionary: action, rule, label. Below zero: -10 - outcome, -20 - would, -30 - stage.
CREATE TABLE pattern_word (
    site INTEGER NOT NULL,
    word INTEGER NOT NULL,
    pattern INTEGER NOT NULL,
    PRIMARY KEY (site, word, pattern)
) WITHOUT ROWID;

CREATE TABLE event_row (
    site INTEGER NOT NULL,
    id INTEGER NOT NULL,
    visitor INTEGER,
    duration_us INTEGER NOT NULL,
    pattern INTEGER NOT NULL,
    PRIMARY KEY (site, id)
) WITHOUT ROWID;

-- Columns that few events have.
CREATE TABLE event_detail (
    site INTEGER NOT NULL,
    id INTEGER NOT NULL,
    request_id TEXT,
    trace_id TEXT,
    solve_ms INTEGER,
    PRIMARY KEY (site, id)
) WITHOUT ROWID;
CREATE INDEX event_detail_by_request ON event_detail (site, request_id) WHERE request_id IS NOT NULL;
CREATE INDEX event_detail_by_solving ON event_detail (site, id, solve_ms) WHERE solve_ms IS NOT NULL;

-- Postings: written later, for many events of a site at once.
CREATE TABLE event_pattern (
    pattern INTEGER NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (pattern, id)
) WITHOUT ROWID;
CREATE TABLE visitor_index (
    site INTEGER NOT NULL,
    visitor INTEGER NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (site, visitor, id)
) WITHOUT ROWID;
-- Visitors are in no order: 6,000 events of a large day would change nearly as many pages of `visitor_index`. So each
-- 6,000 events of a site become a sorted run, and sixteen runs at a time are merged into the index.
CREATE TABLE visitor_run (
    site INTEGER NOT NULL,
    run INTEGER NOT NULL,
    visitor INTEGER NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (site, run, visitor, id)
) WITHOUT ROWID;
-- Naming the runs lets SQLite look a visitor up in each of them instead of reading all rows.
CREATE VIEW event_visitor AS
    SELECT site, visitor, id FROM visitor_index
    UNION ALL SELECT site, visitor, id FROM visitor_run WHERE run IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

-- All events of a site before this ID have postings; those of every site, where the site is 0.
CREATE TABLE posting_mark (
    site INTEGER PRIMARY KEY,
    id INTEGER NOT NULL
);

-- Details are looked up only where they are asked for.
CREATE VIEW event AS
    SELECT event_row.id AS id, event_row.site AS site, visitor, kind, mode, outcome, would, method, route, action, status,
        duration_us, ruled, rule, rule_set_version, model_versions, agent, stage, solve_type,
        (SELECT solve_ms FROM event_detail WHERE site = event_row.site AND id = event_row.id) AS solve_ms,
        error, reasons, labels, scores, shadow_scores,
        (SELECT request_id FROM event_detail WHERE site = event_row.site AND id = event_row.id) AS request_id,
        (SELECT trace_id FROM event_detail WHERE site = event_row.site AND id = event_row.id) AS trace_id
    FROM event_row CROSS JOIN pattern ON pattern.number = event_row.pattern;
CREATE VIEW event_label AS
    SELECT event.site, CAST(listed.value AS INTEGER) AS label, event.id FROM event, json_each(event.labels) AS listed;

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

-- JSON: {"key": events}. A key is dimension * 2^24 + value; dimensions are numbered in events/records.py. A site's hour
-- has a row for each batch of events, until these are put together.
CREATE TABLE dimension_pack (
    site INTEGER NOT NULL,
    hour INTEGER NOT NULL,
    counts TEXT NOT NULL
);
CREATE INDEX dimension_pack_by_site ON dimension_pack (site, hour);
-- As many rows of a value as there are batches that had it.
CREATE VIEW dimension_part AS
    SELECT site, hour, CAST(listed.key AS INTEGER) >> 24 AS dimension, CAST(listed.key AS INTEGER) & 16777215 AS value,
        listed.value AS events
    FROM dimension_pack, json_each(counts) AS listed;
CREATE VIEW dimension_hour AS
    SELECT site, hour, dimension, value, sum(events) AS events FROM dimension_part
    GROUP BY site, hour, dimension, value;
