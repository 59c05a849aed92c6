"""Settings of a worker's interpreter: short pauses of the event loop, whatever its threads do."""

import gc
import sys

# Garbage collection thresholds: new containers per collection of the young generation. Requests drop most containers at
# once. A collection takes one or two milliseconds, which delays all requests; a collection of the middle generation
# takes four times as long if all containers are kept, as when a long list is read.
YOUNG, MIDDLE, OLD = 5_000, 4, 250
# After each response the event loop may wait this long for a thread that writes events, and that thread as long for the
# loop. The interpreter's default of 5 ms is the duration of fifty checks.
SWITCH_S = 0.0002


def begin_loading() -> None:
    """Collect no garbage until `tune_worker`: collections find none in what is loaded, and read all of it each time."""
    gc.disable()


def tune_worker() -> None:
    """Freeze loaded objects and set the thresholds; called once, when all is loaded.

    Later collections skip frozen objects: collecting everything stops a worker for tens of milliseconds.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
    gc.enable()
    sys.setswitchinterval(SWITCH_S)
