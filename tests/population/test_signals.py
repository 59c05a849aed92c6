"""The service's own signals find nothing wrong with the headers of people."""

import pytest

from agentgate.decision.signals.facts import RequestFacts
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import load_intel
from tests.population.visitors import Request, population

SEED = 7
DESTINATIONS = ("style", "script", "image", "font", "empty")


@pytest.fixture(scope="module")
def intel():
    return load_intel(None)


@pytest.fixture(scope="module")
def people():
    return list(population(SEED, visitors=3_000, pages=3))


def found_wrong(intel, visitor, request: Request):
    """Return the evidence against a request: `http.*` labels, and labels of networks and agents that people lack."""
    headers = tuple((name.lower(), value) for name, value in request.headers)
    target = request.url.removeprefix(visitor.origin)
    facts = RequestFacts(now_ms=0, method="GET", target=target, address=visitor.address, headers=headers)
    unlike = ("http.", "net.datacenter", "net.tor", "net.vpn", "net.private", "net.unknown", "agent.")
    labels = observe(facts, intel).labels
    return [label for label in labels if label.startswith(unlike)] + [
        label for label in ("ua.browser",) if label not in labels
    ]


def requests_of(visitor):
    yield from visitor.navigations("c=1")
    for destination in DESTINATIONS:
        yield visitor.part(destination, "/a")


def test_nothing_is_compared_with_people(people, intel):
    against = {
        (visitor.browser.user_agent, *labels)
        for visitor in people
        for request in requests_of(visitor)
        if (labels := found_wrong(intel, visitor, request))
    }

    assert against == set()
