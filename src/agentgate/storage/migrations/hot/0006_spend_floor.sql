-- Spends that a store has lost: no receipt whose redemption need not be kept longer than this is accepted any more.
-- Every worker on every machine reads it, whoever noticed the loss.
CREATE TABLE spend_floor (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    doubt_until_ms BIGINT NOT NULL
);
INSERT INTO spend_floor (id, doubt_until_ms) VALUES (1, 0);
