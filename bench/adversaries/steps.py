"""Steps of the interactive challenge by the page's own clock: durations between its first sight and the token."""

from collections.abc import Sequence

Step = Sequence[str | float]

# Names that the page gives its steps, in the order in which they happen.
BEGUN, SHOWN, PRESSED, HEARD, SENT, PASSED = (
    *("checking", "interactive", "press", "press heard", "verify asked", "verified"),
)


def durations(steps: Sequence[Step]) -> dict[str, float]:
    """Return the seconds of each part of a check that was shown and passed; empty for every other."""
    times: dict[str, list[float]] = {}
    for name, ms in steps:
        times.setdefault(str(name), []).append(float(ms) / 1000)
    if not all(name in times for name in (BEGUN, SHOWN, PRESSED, HEARD, SENT, PASSED)):
        return {}
    shown, first, last, sent = times[SHOWN][0], times[PRESSED][0], times[PRESSED][-1], times[SENT][-1]
    late = max(heard - pressed for pressed, heard in zip(times[PRESSED], times[HEARD], strict=True))
    found = {
        "load": shown - times[BEGUN][0],
        "first press": first - shown,
        "last press": last - first,
        "presses": float(len(times[PRESSED])),
        "page late": late,
        "work": sent - last,
        "answer": times[PASSED][-1] - sent,
        "all": times[PASSED][-1] - shown,
    }
    return {name: round(value, 2) for name, value in found.items()}


def line(steps: Sequence[Step]) -> str:
    """Return the parts as one line."""
    found = durations(steps)
    return ", ".join(f"{name} {value:g}" + " s" * (name != "presses") for name, value in found.items())
