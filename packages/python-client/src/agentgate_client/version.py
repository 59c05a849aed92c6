"""The version, which is the same for the service and all of its packages."""

__version__ = "0.1.0"
