"""Requests to other hosts, at public addresses only."""
