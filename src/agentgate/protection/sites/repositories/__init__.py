"""Sites in SQL."""
