"""Users, sessions and links in SQL."""
