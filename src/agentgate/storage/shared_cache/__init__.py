"""The shared caches: in memory, owned by one process for all workers, on Redis, and one that falls back to memory."""
