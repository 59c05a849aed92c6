"""Response times do not reveal whether an address is known: Welch's t-test over random orders."""

import random
import statistics
import time

import pytest

from agentgate.lib.clock import HOUR_MS
from tests.api.account.steps import ACCOUNT
from tests.support.cast import EMAILS, cast
from tests.support.service import RunningService

# A difference this unlikely comes by chance once in a hundred thousand times.
MOST_T = 4.5


def t_value(service: RunningService, path: str, bodies: dict[bool, list[dict[str, str]]]) -> float:
    """Return Welch's t for the response times of two kinds of request, sent in random order."""
    order = [(kind, body) for kind, group in bodies.items() for body in group]
    random.Random(7).shuffle(order)
    times: dict[bool, list[float]] = {True: [], False: []}
    for kind, body in order:
        # Every request meets windows that have just begun.
        service.clock.advance(ms=HOUR_MS)
        started = time.perf_counter()
        service.public.post(path, json=body)
        times[kind].append(time.perf_counter() - started)
    # The slowest 10% are discarded: they measure other load on the machine.
    kept = [sorted(values)[: len(values) * 9 // 10] for values in times.values()]
    spread = sum(statistics.variance(values) / len(values) for values in kept)
    return (statistics.fmean(kept[0]) - statistics.fmean(kept[1])) / spread**0.5


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("path", "known", "more", "samples"),
    [
        ("password/forgot", EMAILS["alice"], {}, 200),
        ("login", EMAILS["alice"], {"password": "wrong"}, 40),
        ("request-access", "pending@new.example", {"name": "Somebody"}, 50),
    ],
    ids=["forgot", "login", "request-access"],
)
def test_a_known_address_is_handled_as_fast_as_an_unknown_one(
    service: RunningService, path: str, known: str, more: dict[str, str], samples: int
) -> None:
    cast(service)
    bodies = {
        True: [{"email": known, **more}] * samples,
        False: [{"email": f"nobody{number}@acme.example", **more} for number in range(samples)],
    }

    assert abs(t_value(service, f"{ACCOUNT}/{path}", bodies)) < MOST_T
