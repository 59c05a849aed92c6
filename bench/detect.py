"""Duration of one request's inspection: people, one browser, a new address or User-Agent, a bot, a hostile one.

`python -m bench.detect`. Measurements are microseconds of CPU time, the best of several rounds.
"""

import time
from collections.abc import Callable

from agentgate.decision.signals.facts import RequestFacts
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import Intel, load_intel
from tests.population.visitors import ORIGIN, population

ROUNDS, REQUESTS = 9, 2_000
SEED = 27
Headers = tuple[tuple[str, str], ...]


def people() -> list[RequestFacts]:
    """Return one request each of visitors with all kinds of browsers."""
    found = []
    for visitor in population(SEED, REQUESTS, 2):
        asked = visitor.navigation(1)
        headers = tuple((name.lower(), value) for name, value in asked.headers)
        target = asked.url.removeprefix(ORIGIN)
        found.append(RequestFacts(now_ms=0, method="GET", target=target, address=visitor.address, headers=headers))
    return found


def chrome() -> Headers:
    """Return the headers of one Chrome of the population."""
    visitor = next(population(SEED, 1, 2, mix=(("Chrome", "Windows", 1),)))
    return tuple((name.lower(), value) for name, value in visitor.navigation(1).headers)


BROWSER_HEADERS = chrome()
CHROME = dict(BROWSER_HEADERS)["user-agent"]


def request(number: int, headers: Headers = BROWSER_HEADERS) -> RequestFacts:
    """Return a request from the address with this number."""
    address = f"81.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    return RequestFacts(now_ms=0, method="GET", target="/shop/item?id=1", address=address, headers=headers)


def with_user_agent(text: str) -> Headers:
    """Return the browser's headers with another User-Agent."""
    return tuple((name, text if name == "user-agent" else value) for name, value in BROWSER_HEADERS)


def measure(intel: Intel, make_request: Callable[[int], RequestFacts]) -> float:
    """Return the microseconds of one look in the best round; every request of every round is a new one."""
    best_s = float("inf")
    for round_number in range(ROUNDS):
        requests = [make_request(round_number * REQUESTS + number) for number in range(REQUESTS)]
        start_s = time.process_time()
        for facts in requests:
            observe(facts, intel)
        best_s = min(best_s, time.process_time() - start_s)
    return best_s / REQUESTS * 1e6


def main() -> None:
    """Measure each kind of request and print a line about it."""
    intel, visitors = load_intel(None), people()
    kinds = {
        "people, seen before": lambda number: visitors[number % REQUESTS],
        "known browser, known address": lambda _number: request(1),
        "known browser, new address": request,
        "new User-Agent, new address": lambda number: request(number, with_user_agent(f"{CHROME} App/{number}")),
        "program": lambda number: request(
            number, (("host", "a.example"), ("user-agent", "curl/8.5.0"), ("accept", "*/*"))
        ),
        "16 KB User-Agent": lambda number: request(number, with_user_agent(f"{number} bot " + "x" * 16_000)),
    }
    for name, make_request in kinds.items():
        print(f"{name:<30} {measure(intel, make_request):6.2f} us")


if __name__ == "__main__":
    main()
