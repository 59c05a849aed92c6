-- An event costs one row and few index entries. What finds events by a word, label or action, is written later and for
-- many events of a site at once, and what is counted by value lies packed, a row for many values.
-- Existing days are converted here, so with many millions of events this takes half a minute.
ALTER TABLE event_label RENAME TO event_word;
ALTER TABLE event_word RENAME COLUMN label TO word;
INSERT OR IGNORE INTO event_word (site, word, id)
    SELECT site, action, id FROM event WHERE action > 0 ORDER BY site, action, id;
DROP INDEX event_by_action;
-- As it was.
CREATE VIEW event_label AS
    SELECT event.site, CAST(listed.value AS INTEGER) AS label, event.id FROM event, json_each(event.labels) AS listed;

-- All events of a site before this ID are in `event_word`; those of every site, where the site is 0.
CREATE TABLE posted (
    site INTEGER PRIMARY KEY,
    id INTEGER NOT NULL
);
-- A day that has events already goes on as it began: what comes to it is posted at once.
INSERT INTO posted (site, id) SELECT 0, 9223372036854775807 WHERE EXISTS (SELECT 1 FROM event);

-- JSON: {"key": events}. A key is dimension * 2^24 + value. A site's hour has a row for each batch of events, until these
-- are put together.
CREATE TABLE dimension_pack (
    site INTEGER NOT NULL,
    hour INTEGER NOT NULL,
    counts TEXT NOT NULL
);
INSERT INTO dimension_pack (site, hour, counts)
    SELECT site, hour, json_group_object(CAST(dimension * 16777216 + value AS TEXT), events)
    FROM dimension_hour GROUP BY site, hour;
CREATE INDEX dimension_pack_by_site ON dimension_pack (site, hour);
DROP TABLE dimension_hour;
-- As many rows of a value as there are batches that had it.
CREATE VIEW dimension_part AS
    SELECT site, hour, CAST(listed.key AS INTEGER) >> 24 AS dimension, CAST(listed.key AS INTEGER) & 16777215 AS value,
        listed.value AS events
    FROM dimension_pack, json_each(counts) AS listed;
-- As it was.
CREATE VIEW dimension_hour AS
    SELECT site, hour, dimension, value, sum(events) AS events FROM dimension_part
    GROUP BY site, hour, dimension, value;
