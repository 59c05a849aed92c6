"""A corpus of harmful key set URLs: none leads to a forbidden address, costs more than 64 KiB or more than 3 s."""

import asyncio
import inspect
import time
from dataclasses import dataclass

import pytest

from agentgate.agents.signing.directories import FETCH_S, MOST_READ_BYTES
from agentgate.agents.signing.key_sets import KeyFound
from agentgate.http.outbound.public_address import is_public
from agentgate_tools.agent_simulator.sign import AgentSigningKey
from tests.unit.agents.directory_corpus import ADDRESSES, BEHAVING_BADLY, REFUSED
from tests.unit.agents.key_server import PUBLIC, World, world

NOW_MS = 1_790_000_000_000
KEY = AgentSigningKey(b"k" * 32)
# A task may wake up late on a busy machine.
GRACE_S = 1.5
# Data in the buffers of both sides and of TLS that was never read.
BUFFERS_BYTES = 32 * 1024


@dataclass
class Outcome:
    """What became of a URL."""

    found: KeyFound
    seconds: float
    dialled: list[tuple[str, int]]
    sent: int


async def fetch(place: World, url: str) -> Outcome:
    """Let a service that knows nothing yet look for a key."""
    own = World(port=place.port, addresses=place.addresses)
    began_s = time.monotonic()
    found = own.directories().find(url, KEY.keyid, now_ms=NOW_MS)
    found = await found if inspect.isawaitable(found) else found
    seconds = time.monotonic() - began_s
    sent = sum(peer.sent for peer in place.peers if url == f"https://{peer.host}/keys")
    return Outcome(found, seconds, own.dialled, sent)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Every URL, all at the same time."""

    async def fetch_all():
        async with world(tmp_path_factory.mktemp("keys"), "agent.example", "*.bad.example") as place:
            place.addresses = dict(ADDRESSES)
            place.serve = dict(BEHAVING_BADLY)
            place.serves("agent.example", KEY.jwks)
            urls = [*REFUSED, *(f"https://{host}/keys" for host in BEHAVING_BADLY), "https://agent.example/keys"]
            return dict(zip(urls, await asyncio.gather(*(fetch(place, url) for url in urls)), strict=True))

    return asyncio.run(fetch_all())


def test_the_corpus_has_at_least_80_urls_and_a_good_one_is_fetched(outcomes):
    good = outcomes["https://agent.example/keys"]

    assert len(REFUSED) + len(BEHAVING_BADLY) >= 80
    assert good.found.key is not None
    assert good.dialled == [(PUBLIC, 443)]


@pytest.mark.parametrize("url", REFUSED)
def test_a_forbidden_url_leads_to_no_connection_at_all(outcomes, url):
    outcome = outcomes[url]

    assert outcome.dialled == []
    assert outcome.found.key is None
    assert outcome.found.why


@pytest.mark.parametrize("host", BEHAVING_BADLY)
def test_a_host_that_behaves_badly_costs_little_and_gives_no_key(outcomes, host):
    outcome = outcomes[f"https://{host}/keys"]

    assert outcome.found.key is None
    assert outcome.found.why.startswith("the key set could not be fetched: ")
    # One connection, so neither a redirect nor a second attempt.
    assert outcome.dialled == [(PUBLIC, 443)]
    assert outcome.sent <= MOST_READ_BYTES + BUFFERS_BYTES
    assert outcome.seconds <= FETCH_S + GRACE_S


def test_every_connection_went_to_a_public_address(outcomes):
    dialled = [address for outcome in outcomes.values() for address, _ in outcome.dialled]

    assert dialled
    assert all(map(is_public, dialled))


def test_a_name_that_changes_its_mind_is_queried_once_and_the_first_response_holds(tmp_path):
    async def rebind():
        async with world(tmp_path, "rebinding.example") as place:
            place.serves("rebinding.example", KEY.jwks)

            async def resolve(name, _port):
                place.asked_names.append(name)
                return [PUBLIC] if len(place.asked_names) == 1 else ["127.0.0.1"]

            place.resolve = resolve
            directories = place.directories()
            first = await directories.find("https://rebinding.example/keys", KEY.keyid, now_ms=NOW_MS)
            later = await directories.find("https://rebinding.example/keys", "unknown", now_ms=NOW_MS + 60_000)
            return first, later, place

    first, later, place = asyncio.run(rebind())
    assert first.key is not None
    assert later.key is None
    assert place.dialled == [(PUBLIC, 443)]
    assert place.asked_names == ["rebinding.example"] * 2


def test_a_certificate_of_another_name_gives_no_key(tmp_path):
    async def ask():
        async with world(tmp_path, "other.example") as place:
            return await place.directories().find("https://agent.example/keys", KEY.keyid, now_ms=NOW_MS), place

    found, place = asyncio.run(ask())
    assert "certificate is not accepted" in found.why
    assert place.peers == []
