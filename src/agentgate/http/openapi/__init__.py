"""OpenAPI documents and pages from the route tables."""
