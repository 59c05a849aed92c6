"""From a request to labels: facts, detectors, the catalog of labels."""
