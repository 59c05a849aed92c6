-- Which events are a visitor's is written later and for many events of a site at once, as their words are. A word that
-- most events of a stretch have is not written at all: whoever looks for it walks through that stretch.
-- Existing days are converted here, so with many millions of events this takes half a minute.
CREATE TABLE event_visitor (
    site INTEGER NOT NULL,
    visitor INTEGER NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (site, visitor, id)
) WITHOUT ROWID;
INSERT INTO event_visitor (site, visitor, id)
    SELECT site, visitor, id FROM event INDEXED BY event_by_visitor WHERE visitor IS NOT NULL
    ORDER BY site, visitor, id;
DROP INDEX event_by_visitor;

-- As `posted`, for `event_visitor`.
CREATE TABLE posted_visitor (
    site INTEGER PRIMARY KEY,
    id INTEGER NOT NULL
);
INSERT INTO posted_visitor (site, id) SELECT 0, 9223372036854775807 WHERE EXISTS (SELECT 1 FROM event);

-- From `id` up to, not including, `before_id`, so many events of the site have the word that it is not in `event_word`.
CREATE TABLE common_word (
    site INTEGER NOT NULL,
    word INTEGER NOT NULL,
    id INTEGER NOT NULL,
    before_id INTEGER NOT NULL,
    PRIMARY KEY (site, word, id)
) WITHOUT ROWID;
