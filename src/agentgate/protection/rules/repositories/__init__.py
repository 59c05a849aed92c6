"""Rules in SQL."""
