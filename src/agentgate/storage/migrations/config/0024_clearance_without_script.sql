-- Whether the challenge page lets somebody on who waits, without JavaScript.
ALTER TABLE site ADD COLUMN clearance_without_script INTEGER NOT NULL DEFAULT 0;
