-- Which site is the service's own, as the settings say. Its account is protected as long as it has that site.
CREATE TABLE service_site (
    site_key TEXT PRIMARY KEY
);
-- What customers see as an entry's ID: a random number, since one that counts up over all accounts tells each of them
-- how much the others do. Entries from before have none and keep the ID that they had.
ALTER TABLE audit_entry ADD COLUMN public_id BIGINT;
CREATE UNIQUE INDEX audit_by_public_id ON audit_entry (public_id) WHERE public_id IS NOT NULL;
