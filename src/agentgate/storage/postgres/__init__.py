"""PostgreSQL: a pool, and sessions over it."""
