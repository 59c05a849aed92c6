"""Accounts in SQL."""
