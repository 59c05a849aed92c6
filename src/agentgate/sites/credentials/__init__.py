"""Backend credentials: the secrets with which a site's own servers prove themselves."""
