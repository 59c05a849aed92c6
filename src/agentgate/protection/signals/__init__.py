"""From a request to labels: facts, detectors, the catalogue of labels."""
