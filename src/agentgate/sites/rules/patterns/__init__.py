"""Conditions on the request itself: globs, networks, and predicates built from both."""
