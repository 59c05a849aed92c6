-- The feeds that a site declares: paths, with their exact query if they have one.
ALTER TABLE site ADD COLUMN feeds TEXT NOT NULL DEFAULT '[]';
