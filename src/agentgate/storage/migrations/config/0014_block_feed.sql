-- Whether a site collects addresses for its firewall.
ALTER TABLE site ADD COLUMN block_feed INTEGER NOT NULL DEFAULT 0;
