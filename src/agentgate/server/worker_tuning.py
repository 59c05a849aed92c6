"""How the interpreter of a worker is set: for short pauses of the event loop, whatever its threads do."""

import gc
import sys

# How many new containers there may be before the youngest are looked at. Requests make some, and drop most at once. To
# look at these takes one or two milliseconds, in which nobody is answered.
YOUNG, MIDDLE, OLD = 5_000, 20, 50
# After each answer the loop may have to wait this long for a thread that writes events, and that thread as long for the
# loop. The interpreter's own 5 ms are the time of fifty checks.
SWITCH_S = 0.0002


def tune_worker() -> None:
    """Call it once, when all is loaded.

    What exists now is left out of every later collection: one over everything stops a worker for tens of milliseconds.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
    sys.setswitchinterval(SWITCH_S)
