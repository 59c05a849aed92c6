-- Whether every browser has to prove itself once, and the paths that are open to one sender each.
ALTER TABLE site ADD COLUMN whole_site INTEGER NOT NULL DEFAULT 0;
ALTER TABLE site ADD COLUMN open_paths TEXT NOT NULL DEFAULT '[]';
