"""The time of day, read here and nowhere else in the client."""

import time


def now_s() -> float:
    """Return seconds since 1970."""
    return time.time()
