-- Hourly counts of what leaves no event: calls of siteverify, refused origins, tokens given out and redeemed.
CREATE TABLE counter_hour (
    site BIGINT NOT NULL,
    hour BIGINT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    counted BIGINT NOT NULL,
    PRIMARY KEY (site, hour, name, value)
);

-- Feature vectors of decisions, where a site captures them: numbers for training, never content.
CREATE TABLE feature_vector (
    site BIGINT NOT NULL,
    id BIGINT NOT NULL,
    features TEXT NOT NULL,
    PRIMARY KEY (site, id)
);
