"""Prepared requests as a file, and the load generator that sends them: `load.c`, built with `cc` on first use."""

import atexit
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

SOURCE = Path(__file__).with_name("load.c")
CONNECTIONS = 32
# More than any measurement takes.
LONGEST_S = 900


class Load(msgspec.Struct):
    """The outcomes of the requests."""

    answered: int
    # No free connection in time; sent, but no response when the last one was overdue.
    unsent: int
    unanswered: int
    # The server closed the connection instead of responding.
    broken: int
    seconds: float
    # Requests on their way, on average.
    in_flight: float
    # CPU time of the load generator itself.
    cpu_s: float
    # p50, p90 and p99 of responses below 400, from when the request was sent; from when it was due, less the load
    # generator's own delay; and that delay.
    sent_ms: list[float]
    due_ms: list[float]
    late_ms: list[float]
    statuses: dict[int, int]

    @property
    def good(self) -> int:
        """Responses below 400."""
        return sum(count for status, count in self.statuses.items() if status < 400)

    @property
    def per_s(self) -> float:
        """Responses per second."""
        return self.answered / self.seconds

    @property
    def good_per_s(self) -> float:
        """Responses below 400 per second."""
        return self.good / self.seconds


class LoadMissing(Exception):  # noqa: N818 - a reason to skip, not a fault
    """There is no C compiler."""


@cache
def _program() -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        raise LoadMissing("the load generator needs a C compiler (cc)")
    folder = Path(tempfile.mkdtemp(prefix="agentgate-load-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run([compiler, "-O2", "-o", folder / "load", SOURCE], check=True)
    return folder / "load"


def write_requests(path: Path, requests: Iterable[bytes]) -> int:
    """Write a file of requests, each after its length in four bytes; return how many there are."""
    count = 0
    with path.open("wb") as file:
        for count, each in enumerate(requests, start=1):  # noqa: B007 - the last number is what is wanted
            file.write(len(each).to_bytes(4, "big") + each)
    return count


def load(port: int, file: Path, count: int, *, first: int = 0, rate: float = 0, connections: int = CONNECTIONS) -> Load:
    """Send `count` requests of a file, from number `first` on: as fast as responses arrive, or at a constant rate."""
    given = map(str, (port, file, connections, first, count, rate))
    done = subprocess.run([_program(), *given], stdout=subprocess.PIPE, check=True, timeout=LONGEST_S)
    return msgspec.json.decode(done.stdout, type=Load, strict=False)


def statuses_of(loads: Iterable[Load]) -> dict[int, int]:
    """Return how often each status occurred in all of them."""
    counted: Counter[int] = Counter()
    for each in loads:
        counted.update(each.statuses)
    return dict(sorted(counted.items()))
