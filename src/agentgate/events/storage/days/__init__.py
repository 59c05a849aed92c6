"""Storage of the events of each UTC day: a separate file on SQLite, partitions on PostgreSQL."""
