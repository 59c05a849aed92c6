-- The notices that a member gets by mail, as JSON, and when the last weekly one was sent.
ALTER TABLE membership ADD COLUMN notices TEXT NOT NULL DEFAULT '[]';
ALTER TABLE membership ADD COLUMN digest_ms BIGINT NOT NULL DEFAULT 0;
-- The last notices about a site.
CREATE TABLE site_notice (
    site_id TEXT PRIMARY KEY REFERENCES site (id),
    state TEXT NOT NULL
);
