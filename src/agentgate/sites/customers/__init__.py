"""Customers as operators see them: accounts with their members, sites and tokens."""
