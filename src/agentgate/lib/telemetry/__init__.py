"""What the service tells about itself: log lines, metrics, traces. Knows no concept of the product."""
