-- Each wrong answer to a step-up leads to another step-up of the same challenge.
ALTER TABLE challenge ADD COLUMN answers INTEGER NOT NULL DEFAULT 0;
