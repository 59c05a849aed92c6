"""Suggestions: denied requests of programs in groups, each with the exception that would allow exactly that group."""
