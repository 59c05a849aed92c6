"""Decision events: recorded without waiting, written in batches, rolled up, kept for a while."""
