-- Events, one partition per UTC day: dropping a partition deletes a day. Indexes of a closed day: see
-- events/storage/days/postgres.py. Enumerations are small integers, texts are numbers from the dictionary (in `stats`),
-- and `site_hour` is that of `stats`.
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
    PRIMARY KEY (site, id)
) PARTITION BY RANGE (id);
CREATE INDEX event_by_visitor ON event (site, visitor, id);
CREATE INDEX event_by_outcome ON event (site, outcome, id) WHERE outcome <> 0;
CREATE INDEX event_by_would ON event (site, would, id) WHERE would IS NOT NULL;
CREATE INDEX event_by_rule ON event (site, rule, id) WHERE rule IS NOT NULL;
CREATE INDEX event_by_challenge ON event (site, stage, id) WHERE stage IS NOT NULL;
CREATE INDEX event_by_request ON event (site, request_id) WHERE request_id IS NOT NULL;
CREATE VIEW event_label AS
    SELECT site, label::INTEGER AS label, id
    FROM event, unnest(string_to_array(btrim(labels, '[]'), ',')) AS listed (label);

-- Arrays as text, `{1,2}`, which is quicker to write. A key is dimension * 2^24 + value. A site's hour has a row for each
-- batch of events, until these are put together.
CREATE TABLE dimension_pack (
    site BIGINT NOT NULL,
    hour BIGINT NOT NULL,
    keys TEXT NOT NULL,
    counts TEXT NOT NULL
);
CREATE INDEX dimension_pack_by_site ON dimension_pack (site, hour);
-- As many rows of a value as there are batches that had it.
CREATE VIEW dimension_part AS
    SELECT site, hour, (key >> 24)::SMALLINT AS dimension, key & 16777215 AS value, events
    FROM dimension_pack, unnest(keys::INTEGER[], counts::BIGINT[]) AS counted (key, events);
CREATE VIEW dimension_hour AS
    SELECT site, hour, dimension, value, sum(events)::BIGINT AS events
    FROM dimension_part GROUP BY site, hour, dimension, value;
