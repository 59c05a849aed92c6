"""Where the events of a UTC day lie: a file of its own on SQLite, partitions on PostgreSQL."""
