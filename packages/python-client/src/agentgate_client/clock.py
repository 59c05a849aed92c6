"""The time of day. Only this module of the client reads it."""

import time


def now_s() -> float:
    """Return seconds since 1970."""
    return time.time()
