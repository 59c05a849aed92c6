-- How many checks of one kind of computer an hour has, over all networks; 0: by its networks.
ALTER TABLE site ADD COLUMN machine_tokens_per_hour INTEGER NOT NULL DEFAULT 0;
