"""The version, which is that of the service and of every package beside it."""

__version__ = "0.1.0"
