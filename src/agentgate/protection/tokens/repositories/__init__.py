"""Spent receipts in SQL."""
