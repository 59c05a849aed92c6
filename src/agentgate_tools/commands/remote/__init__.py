"""Commands that talk to a running service through its admin API."""
