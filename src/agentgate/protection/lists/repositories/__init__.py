"""Lists and what stored decisions say of them, in SQL."""
