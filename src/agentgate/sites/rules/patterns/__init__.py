"""Conditions on the request itself: globs, networks, and the predicates made of them."""
