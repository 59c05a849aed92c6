"""Tables that belong to no concept: keys, the configuration's version, worker numbers, rows of which the first wins."""
