-- The application whose costly pages the rules of a site challenge.
ALTER TABLE site_rules ADD COLUMN preset TEXT NOT NULL DEFAULT 'none';
ALTER TABLE rule_revision ADD COLUMN preset TEXT NOT NULL DEFAULT 'none';
