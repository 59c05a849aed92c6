-- An event costs one row and few index entries: labels are found by an index over the events themselves, which a day
-- gets when it is closed, and what is counted by value lies packed, a row for many values.
-- Existing days are converted here, so with many millions of events this takes minutes.
SET LOCAL statement_timeout = '2h';
SET LOCAL lock_timeout = '60s';

-- Arrays as text, `{1,2}`: those who write them are quicker that way. A key is dimension * 2^24 + value. A site's hour
-- has a row for each batch of events, until these are put together.
CREATE TABLE dimension_pack (
    site BIGINT NOT NULL,
    hour BIGINT NOT NULL,
    keys TEXT NOT NULL,
    counts TEXT NOT NULL
);
INSERT INTO dimension_pack (site, hour, keys, counts)
    SELECT site, hour, '{' || string_agg((dimension * 16777216 + value)::text, ',') || '}',
        '{' || string_agg(events::text, ',') || '}'
    FROM dimension_hour GROUP BY site, hour;
CREATE INDEX dimension_pack_by_site ON dimension_pack (site, hour);
DROP TABLE dimension_hour;
-- As many rows of a value as there are batches that had it.
CREATE VIEW dimension_part AS
    SELECT site, hour, (key >> 24)::SMALLINT AS dimension, key & 16777215 AS value, events
    FROM dimension_pack, unnest(keys::INTEGER[], counts::BIGINT[]) AS counted (key, events);
-- As it was, and as it is embedded.
CREATE VIEW dimension_hour AS
    SELECT site, hour, dimension, value, sum(events)::BIGINT AS events
    FROM dimension_part GROUP BY site, hour, dimension, value;

DROP TABLE event_label;
CREATE VIEW event_label AS
    SELECT site, label::INTEGER AS label, id
    FROM event, unnest(string_to_array(btrim(labels, '[]'), ',')) AS listed (label);

-- Everybody who asks for an event knows its site, so one index serves for both.
ALTER TABLE event DROP CONSTRAINT event_pkey;
DROP INDEX event_by_site;
ALTER TABLE event ADD PRIMARY KEY (site, id);
DROP INDEX event_by_action;

-- What a closed day has; see store/segments/postgres.py, which makes them from now on.
DO $$
DECLARE
    day RECORD;
BEGIN
    FOR day IN SELECT child.oid::regclass AS name, child.relname AS plain FROM pg_catalog.pg_inherits
        JOIN pg_catalog.pg_class child ON child.oid = inhrelid WHERE inhparent = 'event'::regclass
    LOOP
        EXECUTE format('CREATE INDEX %I ON %s (site, action, id) WHERE action IS NOT NULL',
            day.plain || '_by_action', day.name);
        EXECUTE format('CREATE INDEX %I ON %s USING gin ((string_to_array(replace(btrim(labels, ''[]''), '','', '':'' ||'
            ' site::text || '','') || '':'' || site::text, '','') COLLATE "C"))', day.plain || '_by_label', day.name);
    END LOOP;
END
$$;
