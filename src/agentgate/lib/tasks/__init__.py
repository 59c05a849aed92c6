"""Work outside of requests: once in the background, or periodically."""
