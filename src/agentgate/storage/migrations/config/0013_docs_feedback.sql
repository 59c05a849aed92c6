-- Answers to "was this page helpful?", counted per page and UTC day (days since 1970).
CREATE TABLE docs_feedback (
    page TEXT NOT NULL,
    day BIGINT NOT NULL,
    helpful BIGINT NOT NULL DEFAULT 0,
    not_helpful BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (page, day)
);
