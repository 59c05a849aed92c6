"""Policies of Anubis as rule sets."""
