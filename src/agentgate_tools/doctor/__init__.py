"""The doctor: checks a live installation from outside and reports problems."""
