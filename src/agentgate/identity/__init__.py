"""People and their sessions. So far: the operators of the service."""
