-- Operators look for accounts by a part of the name, whatever its case. The databases' own lower() knows the case of
-- ASCII letters only (always in SQLite, with the locale C in PostgreSQL), so the folded name is kept beside the name.
ALTER TABLE account ADD COLUMN name_folded TEXT NOT NULL DEFAULT '';
UPDATE account SET name_folded = lower(name);
