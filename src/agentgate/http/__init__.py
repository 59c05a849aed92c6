"""A very small HTTP kernel. It knows no concept of the product."""
