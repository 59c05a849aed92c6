"""The statements, one file per concept, written once for SQLite and PostgreSQL."""
