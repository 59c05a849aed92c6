"""The clients of the demo's traffic, taken from the population: `python -m tests.population.demo` writes them.

The service is delivered without its tests, so the demo needs the headers in a separate file.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agentgate.server.demo import traffic as demo
from tests.population.crawlers import crawler_requests
from tests.population.programs import program_requests
from tests.population.sent import Sent
from tests.population.unwanted import unwanted_requests
from tests.population.visitors import population

SEED, PEOPLE = 31, 30
FILE = Path(demo.__file__).with_name("clients.json")
# Of a hundred visits: people's, of programs that a site wants, and of what it does not want.
PEOPLES, PROGRAMS, UNWANTED = 60, 15, 25
# Address ranges for documentation (RFC 5737): the demo has no real addresses.
HOMES, SERVERS = "203.0.113", "192.0.2"
PAGES = (("GET", "/"), ("GET", "/search?q=lamp"), ("POST", "/login"), ("POST", "/checkout/pay"))
FAST = 240


def clients() -> list[dict[str, Any]]:
    """Return the clients of the demo."""
    people = [
        {"network": HOMES, "headers": _plain(visitor.navigation(1).headers), "requests": PAGES, "solves": True}
        for visitor in population(SEED, PEOPLE, 2)
    ]
    programs = [_program(sent) for sent in _one_of_each([*program_requests(SEED), *crawler_requests(SEED)])]
    unwanted = [_unwanted(sent) for kind in unwanted_requests(SEED, 40) for sent in _one_of_each(kind)]
    groups = ((PEOPLES, people), (PROGRAMS, programs), (UNWANTED, unwanted))
    return [{"weight": round(share / len(group), 2), **client} for share, group in groups for client in group]


def _one_of_each(requests: Iterable[Sent]) -> Iterator[Sent]:
    return iter({(sent.kind, sent.name): sent for sent in requests}.values())


def _program(sent: Sent) -> dict[str, Any]:
    return {"network": SERVERS, "headers": _plain(sent.headers), "requests": [_asked(sent)]}


def _unwanted(sent: Sent) -> dict[str, Any]:
    rate = FAST if "fast" in sent.kind or "stuffing" in sent.kind else 2
    client = {
        "network": HOMES,
        "headers": _plain(sent.headers),
        "requests": [_asked(sent)],
        "requests_per_minute": rate,
    }
    return client | ({"agent": {"verdict": "unsigned"}} if "honest" in sent.kind else {})


def _asked(sent: Sent) -> tuple[str, str]:
    parts = urlsplit(sent.url)
    return sent.method, parts.path + (f"?{parts.query}" if parts.query else "")


def _plain(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    kept = {name.lower(): value for name, value in headers if name.lower() not in {"cookie", "content-length"}}
    return [("host", "shop.example"), *((name, value) for name, value in kept.items() if name != "host")]


def text() -> str:
    """Return the file."""
    return "[\n" + ",\n".join(json.dumps(client) for client in clients()) + "\n]\n"


if __name__ == "__main__":
    FILE.write_text(text())
