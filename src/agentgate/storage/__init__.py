"""All SQL. Nothing else knows a database; nothing but `app` and `cli` imports this package."""
