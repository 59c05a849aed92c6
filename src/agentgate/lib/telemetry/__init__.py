"""Log lines, metrics and traces of the service. Knows no concept of the product."""
