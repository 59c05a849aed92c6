"""The database drivers: SQLite (embedded) and PostgreSQL (scale-out). No SQL of any concept is here."""
