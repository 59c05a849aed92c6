"""`serve --demo`: a site, its credentials and a week of made-up traffic."""
