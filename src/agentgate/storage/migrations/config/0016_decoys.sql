-- Whether pages of a site have links that no person sees.
ALTER TABLE site ADD COLUMN decoys INTEGER NOT NULL DEFAULT 0;
