"""Manifests that tell agents what they can do at a site."""
