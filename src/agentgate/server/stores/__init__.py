"""From settings to open databases, and the unit of work over all repositories."""
