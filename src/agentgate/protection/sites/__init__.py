"""Sites: what is protected, how it is described, and who may see it."""
