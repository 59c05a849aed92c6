"""The OpenAPI documents and their pages."""
