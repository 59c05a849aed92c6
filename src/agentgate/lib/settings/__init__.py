"""The settings: one typed table, its kinds of values, and the page that describes it."""
