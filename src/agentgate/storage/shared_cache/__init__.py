"""The fast stores: in memory, on Redis, and one that falls back from the second to the first."""
