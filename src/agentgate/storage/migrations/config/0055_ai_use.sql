-- What AI operators and agents may use the site for; null for a site that says nothing.
ALTER TABLE site ADD COLUMN ai_use TEXT;
