"""What a match can ask of the request itself: globs, networks, and the predicates made of them."""
