-- Programs that a site lets in wherever they come from: classes and names, as a JSON list.
ALTER TABLE site ADD COLUMN wanted_programs TEXT NOT NULL DEFAULT '[]';
