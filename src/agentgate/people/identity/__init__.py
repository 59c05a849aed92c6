"""People and their sessions: operators, and users with their passwords, second factors and links."""
