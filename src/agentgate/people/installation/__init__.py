"""The installation as operators see it: version, stores, workers, timed jobs, keys, threat lists, settings."""
