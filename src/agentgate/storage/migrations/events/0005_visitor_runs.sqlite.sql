-- Visitors come in no order at all: 6,000 events of a large day change nearly as many pages of an index by visitor. So
-- each 6,000 events of a site become a run, sorted in itself, and sixteen runs at a time are merged into the index.
ALTER TABLE event_visitor RENAME TO visitor_index;
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

-- A process of the release before writes to what it knows as a table.
CREATE TRIGGER visitor_of_the_release_before INSTEAD OF INSERT ON event_visitor
BEGIN
    INSERT OR IGNORE INTO visitor_index (site, visitor, id) VALUES (NEW.site, NEW.visitor, NEW.id);
END;
CREATE TRIGGER visitor_removed_by_the_release_before INSTEAD OF DELETE ON event_visitor
BEGIN
    DELETE FROM visitor_index WHERE site = OLD.site AND visitor = OLD.visitor AND id = OLD.id;
    DELETE FROM visitor_run WHERE site = OLD.site AND visitor = OLD.visitor AND id = OLD.id AND run BETWEEN 0 AND 15;
END;
