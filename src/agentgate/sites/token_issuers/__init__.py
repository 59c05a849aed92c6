"""Issuers of private tokens whose keys come from their directories."""
