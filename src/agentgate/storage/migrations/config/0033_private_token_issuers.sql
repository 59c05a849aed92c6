-- Issuers of private tokens (Privacy Pass) that the site trusts, with their keys, as a JSON list.
ALTER TABLE site ADD COLUMN private_token_issuers TEXT NOT NULL DEFAULT '[]';
