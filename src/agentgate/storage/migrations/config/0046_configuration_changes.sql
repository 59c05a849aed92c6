-- What each version of the configuration changed, so that a worker reads only that. The newest versions are kept.
CREATE TABLE configuration_change (
    version BIGINT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('site', 'account', 'models')),
    target TEXT NOT NULL
);
