-- Patterns have no postings any more: counts by hour lead to the hours, and patterns to the events. Visitors get theirs
-- for many events of a site at once, without runs in between.
INSERT OR IGNORE INTO visitor_index (site, visitor, id) SELECT site, visitor, id FROM visitor_run ORDER BY 1, 2, 3;
DROP VIEW event_visitor;
DROP TABLE visitor_run;
DROP TABLE event_pattern;

-- What the index has of a visitor, in the order of visitors.
CREATE VIEW event_by_visitor AS
    SELECT seen.site AS site, seen.visitor AS visitor, seen.id AS id, kind, outcome, would, stage, action, agent
    FROM visitor_index AS seen CROSS JOIN event_row ON event_row.site = seen.site AND event_row.id = seen.id
    CROSS JOIN pattern ON number = pattern;
-- Few events have details, so these come first.
CREATE VIEW event_solving AS
    SELECT detail.site AS site, detail.id AS id, stage, solve_ms
    FROM event_detail AS detail CROSS JOIN event_row ON event_row.site = detail.site AND event_row.id = detail.id
    CROSS JOIN pattern ON number = pattern WHERE solve_ms IS NOT NULL;
