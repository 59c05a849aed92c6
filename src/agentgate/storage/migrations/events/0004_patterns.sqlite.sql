-- An event is a narrow row: what it shares with others stands once in the day, as a pattern. Words (labels, actions,
-- rules, outcomes) lead to patterns, and patterns to events.
-- Existing days are converted here, so with many millions of events this takes a minute or two.

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
INSERT INTO pattern (
    site, kind, mode, outcome, would, method, route, action, status, ruled, rule, rule_set_version, agent, stage,
    solve_type, error, reasons, labels, model_versions, scores, shadow_scores)
    SELECT DISTINCT site, kind, mode, outcome, would, method, route, action, status, ruled, rule, rule_set_version,
        agent, stage, solve_type, error, reasons, labels, model_versions, scores, shadow_scores FROM event;

-- Another number whenever patterns are removed: what a process remembers of their numbers is of no use any more.
CREATE TABLE pattern_epoch (epoch INTEGER NOT NULL);
INSERT INTO pattern_epoch (epoch) VALUES (random());

-- A word is a number of the dictionary: action, rule, label. Below zero: -10 - outcome, -20 - would, -30 - stage.
CREATE TABLE pattern_word (
    site INTEGER NOT NULL,
    word INTEGER NOT NULL,
    pattern INTEGER NOT NULL,
    PRIMARY KEY (site, word, pattern)
) WITHOUT ROWID;
INSERT OR IGNORE INTO pattern_word (site, word, pattern)
    SELECT site, action, number FROM pattern WHERE action > 0
    UNION ALL SELECT site, rule, number FROM pattern WHERE rule > 0
    UNION ALL SELECT site, -10 - outcome, number FROM pattern WHERE outcome <> 0
    UNION ALL SELECT site, -20 - would, number FROM pattern WHERE would IS NOT NULL
    UNION ALL SELECT site, -30 - stage, number FROM pattern WHERE stage IS NOT NULL
    UNION ALL SELECT site, listed.value, number FROM pattern CROSS JOIN json_each(labels) AS listed
        WHERE listed.value > 0
    ORDER BY 1, 2, 3;

CREATE TABLE event_row (
    site INTEGER NOT NULL,
    id INTEGER NOT NULL,
    visitor INTEGER,
    duration_us INTEGER NOT NULL,
    pattern INTEGER NOT NULL,
    PRIMARY KEY (site, id)
) WITHOUT ROWID;
-- For the conversion only.
CREATE INDEX pattern_whole ON pattern (
    labels, scores, route, site, action, rule, kind, mode, outcome, would, method, status, ruled, rule_set_version,
    agent, stage, solve_type, error, reasons, model_versions, shadow_scores);
INSERT INTO event_row (site, id, visitor, duration_us, pattern)
    SELECT event.site, event.id, event.visitor, event.duration_us, (
        SELECT number FROM pattern WHERE pattern.labels = event.labels AND pattern.scores IS event.scores
            AND pattern.route = event.route AND pattern.site = event.site AND pattern.action IS event.action
            AND pattern.rule IS event.rule AND pattern.kind = event.kind AND pattern.mode = event.mode
            AND pattern.outcome = event.outcome AND pattern.would IS event.would AND pattern.method = event.method
            AND pattern.status = event.status AND pattern.ruled = event.ruled
            AND pattern.rule_set_version IS event.rule_set_version AND pattern.agent IS event.agent
            AND pattern.stage IS event.stage AND pattern.solve_type IS event.solve_type
            AND pattern.error = event.error AND pattern.reasons = event.reasons
            AND pattern.model_versions IS event.model_versions AND pattern.shadow_scores IS event.shadow_scores)
    FROM event INDEXED BY event_by_site ORDER BY event.site, event.id;
DROP INDEX pattern_whole;

-- What an event has for itself, if it has any of it.
CREATE TABLE event_detail (
    site INTEGER NOT NULL,
    id INTEGER NOT NULL,
    request_id TEXT,
    trace_id TEXT,
    solve_ms INTEGER,
    PRIMARY KEY (site, id)
) WITHOUT ROWID;
INSERT INTO event_detail (site, id, request_id, trace_id, solve_ms)
    SELECT site, id, request_id, trace_id, solve_ms FROM event INDEXED BY event_by_site
    WHERE request_id IS NOT NULL OR trace_id IS NOT NULL OR solve_ms IS NOT NULL ORDER BY site, id;
CREATE INDEX event_detail_by_request ON event_detail (site, request_id) WHERE request_id IS NOT NULL;
CREATE INDEX event_detail_by_solving ON event_detail (site, id, solve_ms) WHERE solve_ms IS NOT NULL;

CREATE TABLE event_pattern (
    pattern INTEGER NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (pattern, id)
) WITHOUT ROWID;
INSERT INTO event_pattern (pattern, id) SELECT pattern, id FROM event_row ORDER BY pattern, id;
INSERT OR IGNORE INTO event_visitor (site, visitor, id)
    SELECT site, visitor, id FROM event_row
    WHERE visitor IS NOT NULL AND id >= (SELECT coalesce(max(id), 0) FROM posted_visitor WHERE site IN (event_row.site, 0))
    ORDER BY 1, 2, 3;

-- All events of a site before this ID are in `event_pattern` and `event_visitor`; those of every site, where the site is
-- 0. A day that has events already goes on with each event posted as it comes.
CREATE TABLE posting_mark (
    site INTEGER PRIMARY KEY,
    id INTEGER NOT NULL
);
INSERT INTO posting_mark (site, id) SELECT 0, 9223372036854775807 WHERE EXISTS (SELECT 1 FROM event);

DROP VIEW event_label;
DROP TABLE event;
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

-- A process of the release before goes on writing: whole events, each with a pattern of its own. It takes it that words
-- and visitors of this day are posted as they come.
DELETE FROM event_word;
DELETE FROM common_word;
DELETE FROM posted;
DELETE FROM posted_visitor;
INSERT INTO posted (site, id) VALUES (0, 9223372036854775807);
INSERT INTO posted_visitor (site, id) VALUES (0, 9223372036854775807);
CREATE TRIGGER event_of_the_release_before INSTEAD OF INSERT ON event
BEGIN
    INSERT INTO pattern (
        site, kind, mode, outcome, would, method, route, action, status, ruled, rule, rule_set_version, agent, stage,
        solve_type, error, reasons, labels, model_versions, scores, shadow_scores)
        VALUES (NEW.site, NEW.kind, NEW.mode, NEW.outcome, NEW.would, NEW.method, NEW.route, NEW.action, NEW.status,
            NEW.ruled, NEW.rule, NEW.rule_set_version, NEW.agent, NEW.stage, NEW.solve_type, NEW.error, NEW.reasons,
            NEW.labels, NEW.model_versions, NEW.scores, NEW.shadow_scores);
    INSERT OR IGNORE INTO pattern_word (site, word, pattern)
        SELECT NEW.site, listed.value, (SELECT max(number) FROM pattern)
        FROM json_each('[' || concat_ws(',', NEW.action, NEW.rule, -10 - nullif(NEW.outcome, 0), -20 - NEW.would,
            -30 - NEW.stage, nullif(trim(NEW.labels, '[]'), '')) || ']') AS listed WHERE listed.value <> 0;
    INSERT INTO event_row (site, id, visitor, duration_us, pattern)
        SELECT NEW.site, NEW.id, NEW.visitor, NEW.duration_us, max(number) FROM pattern;
    INSERT INTO event_detail (site, id, request_id, trace_id, solve_ms)
        SELECT NEW.site, NEW.id, NEW.request_id, NEW.trace_id, NEW.solve_ms
        WHERE NEW.request_id IS NOT NULL OR NEW.trace_id IS NOT NULL OR NEW.solve_ms IS NOT NULL;
    INSERT INTO event_pattern (pattern, id) SELECT max(number), NEW.id FROM pattern
        HAVING NEW.id < (SELECT coalesce(max(id), 0) FROM posting_mark WHERE site IN (NEW.site, 0));
    INSERT INTO event_visitor (site, visitor, id) SELECT NEW.site, NEW.visitor, NEW.id
        WHERE NEW.visitor IS NOT NULL
            AND NEW.id < (SELECT coalesce(max(id), 0) FROM posting_mark WHERE site IN (NEW.site, 0));
END;
