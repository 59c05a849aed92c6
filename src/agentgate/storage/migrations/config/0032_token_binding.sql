-- Who may spend the site's tokens: whoever is in the network that earned them, only who can be compared, or anybody.
ALTER TABLE site ADD COLUMN token_binding TEXT NOT NULL DEFAULT 'network';
