"""From a request to labels: facts, signals, the catalogue of labels, threat data."""
