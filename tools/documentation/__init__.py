"""The documentation as static files. The build renders them into the wheel; a checkout renders them on request."""
