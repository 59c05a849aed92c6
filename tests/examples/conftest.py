"""The site of the server-side tests, for the examples that are run against it."""

from tests.site_server.conftest import gate

__all__ = ["gate"]
