-- When whole-site protection applies, until when the owner declared an attack, and the last time of many page loads.
ALTER TABLE site ADD COLUMN whole_site_when TEXT NOT NULL DEFAULT 'always';
ALTER TABLE site ADD COLUMN under_attack_until BIGINT;
ALTER TABLE site ADD COLUMN load TEXT;
