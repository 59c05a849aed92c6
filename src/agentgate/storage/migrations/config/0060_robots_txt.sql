-- The owner's own robots.txt.
ALTER TABLE site ADD COLUMN robots_txt TEXT NOT NULL DEFAULT '';
