-- What happens to browsers that a person's assistant drives openly: challenge, allow or block.
ALTER TABLE site ADD COLUMN assistants TEXT NOT NULL DEFAULT 'block';
