"""An agent that comes again is answered as one that comes for the first time: every byte, every event."""

import random
from hashlib import sha256
from typing import Any, NamedTuple

import pytest

from agentgate.events.records import Event
from agentgate.lib.keyring import load_keys, rotate_key
from agentgate.lib.limiter import Limiter
from agentgate.protection.agents.policy.quota import Quotas
from agentgate.protection.agents.policy_checker import AgentDesk
from agentgate.protection.agents.ports import ReplayStore
from agentgate.protection.agents.signing.replays import Replays
from agentgate.protection.agents.signing.sign import COVERED, AgentForm
from agentgate.protection.agents.signing.verify import AgentVerifier
from agentgate.protection.gateway import cached_agents
from agentgate.protection.scoring.models import ModelDirectory
from agentgate.server.application import Application
from agentgate.storage.shared_cache.memory import MemoryFastStore
from tests.agent_client import SigningAgent
from tests.api.public.test_gateway import ORIGIN, Gate
from tests.api.public.test_gateway_familiar import ADDRESSES, AGENTS, Side, block_addresses, change_something, models_of
from tests.running import RunningService

NAMED, PRICED, DENIED = (
    SigningAgent(f"https://{name}.example", bytes([place]) * 32) for place, name in enumerate(("named", "priced", "no"))
)
STRANGER = SigningAgent("https://stranger.example", bytes([9]) * 32)
PATHS = ("/", "/api/x", "/find", "/find?q=1", "/login", "/robots.txt", "/upload", "/a?b=c", "/" + "x" * 200, "/%zz")
URLS = [ORIGIN + path for path in PATHS] + ["https://other.example/find", f"{ORIGIN}/a b", f"{ORIGIN}/\xe4", "no url"]
COVERS = (
    COVERED,
    ("@authority", "signature-agent"),
    ("@target-uri", "@method", "user-agent", "signature-agent"),
    ("@authority", "@request-target", "accept", "@scheme", "signature-agent"),
)
ROUNDS, REQUESTS = 12, 300


class Apart:
    """Signatures that were accepted, of one side alone."""

    def __init__(self, store: ReplayStore, name: bytes) -> None:
        self._store = store
        self._name = name

    async def remember(self, replay_key: bytes, *, kept_until_ms: int) -> bool:
        return await self._store.remember(sha256(self._name + replay_key).digest(), kept_until_ms=kept_until_ms)

    async def forget_replays(self, before_ms: int, *, most: int) -> int:
        return await self._store.forget_replays(before_ms, most=most)


def side_of(application: Application, models: ModelDirectory, name: bytes = b"") -> Side:
    """Return a gate with counters of its own, those of agents included."""
    stores, clock = application.stores, application.clock
    desk = AgentDesk(
        AgentVerifier(application.protecting.key_directories),
        replays=Replays(Apart(stores.agent_replays, name)),
        quotas=Quotas(Limiter(MemoryFastStore(clock), clock)),
        charges=stores.charges,
    )
    return Side(application, models, desk)


class Signed(NamedTuple):
    """How an agent signs and what it asks for."""

    agent: SigningAgent = NAMED
    method: str = "GET"
    url: str = f"{ORIGIN}/find"
    signed_url: str | None = None
    age_s: int = 0
    nonce: bool = False
    cover: tuple[str, ...] = COVERED
    form: AgentForm = AgentForm.STRING
    address: str = ADDRESSES[0]
    user_agent: str = "agent/1.0"
    more: tuple[str, ...] = ()
    query: str = ""
    # What is written in place of the signature's last five characters, `==:` among them.
    end: str = ""

    def data(self, gate: Gate) -> bytes:
        """Return what the proxy sends."""
        created = gate.service.clock.now_ms() // 1000 - self.age_s
        made = self.agent.headers(
            self.method,
            self.signed_url or self.url,
            headers={"user-agent": self.user_agent, "accept": "text/html"},
            created=created,
            nonce=self.nonce,
            cover=self.cover,
            form=self.form,
        )
        if self.end:
            made["signature"] = made["signature"][: -len(self.end)] + self.end
        lines = [
            f"GET /v1/gateway/check{self.query} HTTP/1.1",
            f"Authorization: Bearer {gate.secret}",
            f"X-Original-Method: {self.method}",
            f"X-Original-URL: {self.url}",
            f"X-Original-Address: {self.address}",
            "Host: gate.example",
            *(f"{name}: {value}" for name, value in made.items()),
            *self.more,
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def random_request(chance: random.Random) -> Signed:
    """Return a request; most are like one that was sent before."""
    made = Signed(
        agent=NAMED if chance.random() < 0.8 else chance.choice((PRICED, DENIED, STRANGER)),
        url=chance.choice(URLS),
        address=chance.choice(ADDRESSES),
        cover=COVERS[0] if chance.random() < 0.6 else chance.choice(COVERS),
    )
    if chance.random() < 0.75:
        return made
    odd: list[dict[str, Any]] = [
        {"signed_url": f"{ORIGIN}/other"},
        {"method": "POST"},
        {"method": "HEAD"},
        {"nonce": True},
        {"age_s": chance.choice((1, 299, 300, 3_600, -30, -120))},
        {"form": AgentForm.MEMBER},
        {"query": "?ok=200"},
        {"user_agent": chance.choice(AGENTS)},
        {"more": (chance.choice(("Cookie: a=b", "X-AgentGate-Token: x", "X-HTTP-Method: PUT", "Referer: y")),)},
        {"end": chance.choice(("AA==:", "A===:", "A==", "=====", "\x7f==:"))},
    ]
    return made._replace(**chance.choice(odd))


@pytest.fixture
def gate(service: RunningService) -> Gate:
    return Gate(service)


def set_policy(gate: Gate, *, quota: int = 100_000, jwks: dict[str, Any] = NAMED.jwks, **policy: Any) -> None:
    """Change the policy, and wait until it is obeyed."""
    agents = {
        NAMED.url: {"decision": "allow", "jwks": jwks, "quotaPerMinute": quota},
        PRICED.url: {"decision": "allow", "jwks": PRICED.jwks, "price": "USD 0.01"},
        DENIED.url: {"decision": "deny", "jwks": DENIED.jwks},
    }
    path = f"/v1/admin/sites/{gate.site_key}/agent-policy"
    reply = gate.service.operator.put(path, json={"agents": agents, **policy})
    assert reply.status_code == 200, reply.text
    gate.service.run(gate.service.application.deciding.sites.settle())


def test_a_familiar_agent_is_answered_as_a_stranger(service: RunningService, gate: Gate) -> None:
    application, clock, chance = service.application, service.clock, random.Random(3)
    models = ModelDirectory()
    views = [models.view, models_of().view, models_of("figures").view]
    known, strange = side_of(application, models, b"known"), side_of(application, models, b"strange")
    answers = set()

    async def compare() -> None:
        for _ in range(REQUESTS):
            sent = random_request(chance)
            data = sent.data(gate)
            found = await known.ask(data, may_recognise=True)
            expected = await strange.ask(data, may_recognise=False)
            assert found == expected, sent
            answers.add(found[0])
            clock.advance(ms=chance.choice((0, 0, 0, 1, 5, 30)))
            is_late = chance.random() < 0.03
            for side in (known, strange):
                side.gate.turn._end()
                side.gate.turn.is_refusing = is_late

    for _ in range(ROUNDS):
        change_something(service, gate, chance)
        terms = {"search": {"quotaPerMinute": chance.choice((20, 100_000))}, "login": {"price": "USD 0.01"}}
        set_policy(
            gate,
            quota=chance.choice((50, 100_000)),
            actions=chance.choice((terms, {})),
            unverified=chance.choice(("allow", "challenge", "block")),
        )
        models._view = chance.choice(views)
        service.run(compare())
        clock.advance(seconds=chance.choice((1, 3_700)))

    assert known.recognised > ROUNDS * REQUESTS // 10
    assert len(answers) > 8


def met(service: RunningService, gate: Gate, sent: Signed, models: ModelDirectory | None = None) -> Side:
    """Return a side to which an agent is familiar."""
    side = side_of(service.application, models or ModelDirectory())
    # Lines with so many values are among those that change.
    for number in range(80):
        ask(service, gate, side, sent._replace(url=f"{ORIGIN}/find?{number}"))
    before = side.recognised
    assert ask(service, gate, side, sent)[0] is not None
    assert side.recognised > before
    return side


def ask(service: RunningService, gate: Gate, side: Side, sent: Signed) -> tuple[bytes | None, list[Event]]:
    side.gate.turn._end()
    return service.run(side.ask(sent.data(gate), may_recognise=True))


def test_a_familiar_agents_signature_opens_no_other_page(service: RunningService, gate: Gate) -> None:
    set_policy(gate)
    side = met(service, gate, Signed())
    before = side.recognised

    answer, events = ask(service, gate, side, Signed(signed_url=f"{ORIGIN}/find?other"))

    assert answer is not None
    assert b"403" in answer
    assert b"x-service-reason: agent_signature_invalid\r\n" in answer
    assert "agent.verified" not in events[0].labels
    # It was found out here, so nobody makes the gate check a bad signature twice.
    assert side.recognised == before + 1


def test_an_agent_that_signs_only_the_host_is_familiar_by_its_one_signature(
    service: RunningService, gate: Gate
) -> None:
    set_policy(gate)
    side = side_of(service.application, ModelDirectory())
    sent = Signed(cover=("@authority", "signature-agent"))
    answers = [ask(service, gate, side, sent._replace(url=f"{ORIGIN}/find?{number}"))[0] for number in range(9)]

    other = ask(service, gate, side, sent._replace(url="https://other.example/find", signed_url=sent.url))[0]

    assert all(b"204" in (answer or b"") for answer in answers)
    assert side.recognised >= 5
    assert b"agent_signature_invalid" in (other or b"")


def test_a_familiar_agent_is_over_its_quota_as_everybody(service: RunningService, gate: Gate) -> None:
    set_policy(gate, quota=90)
    side = met(service, gate, Signed())

    answers = [ask(service, gate, side, Signed())[0] or b"" for _ in range(12)]

    assert [b"204" in answer for answer in answers] == [True] * 9 + [False] * 3
    assert b"x-service-reason: rate_limited\r\n" in answers[-1]


def test_a_familiar_agent_is_looked_at_anew_each_second(service: RunningService, gate: Gate) -> None:
    set_policy(gate)
    side = met(service, gate, Signed())
    before = side.recognised

    service.clock.advance(seconds=1)
    answer, _ = ask(service, gate, side, Signed(age_s=1))
    service.clock.advance(seconds=400)
    late, _ = ask(service, gate, side, Signed(age_s=401))

    assert b"204" in (answer or b"")
    assert b"403" in (late or b"")
    assert side.recognised == before


def test_a_key_that_ends_within_the_second_makes_nobody_familiar(service: RunningService, gate: Gate) -> None:
    second = service.clock.now_ms() // 1000
    service.clock.advance(ms=1000 - service.clock.now_ms() % 1000)
    jwk = {**NAMED.jwks["keys"][0], "exp": second + 1.5}
    set_policy(gate, jwks={"keys": [jwk]})
    side = side_of(service.application, ModelDirectory())

    good = [ask(service, gate, side, Signed())[0] or b"" for _ in range(80)]
    service.clock.advance(ms=600)
    late = ask(service, gate, side, Signed())[0] or b""

    assert all(b"204" in answer for answer in good)
    assert b"agent_unverified" in late
    assert side.recognised == 0


def test_only_so_much_is_remembered_of_agents(
    service: RunningService, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MOST_AGENTS", "MOST_GUESTS", "MOST_PAGES", "MOST_SETTLED"):
        monkeypatch.setattr(cached_agents, name, 5)
    set_policy(gate)
    side = met(service, gate, Signed())
    for number in range(60):
        sent = Signed(
            url=f"{ORIGIN}/{'x' * number}", address=f"203.0.113.{number}", user_agent=f"agent/{number // 6}", age_s=0
        )
        assert b"204" in (ask(service, gate, side, sent)[0] or b"")

    agents = side.gate._agents
    assert agents is not None
    assert sum(len(lane.agents) + len(lane.seen) for lane in agents.lanes.values()) <= 11
    assert sum(map(len, agents._pages.values())) <= 6
    assert sum(map(len, agents._guests.values())) <= 6
    assert sum(map(len, agents._settled.values())) <= 6
    assert len(agents._settled) <= 5


def test_an_agents_visitor_has_another_name_when_the_key_was_rotated(service: RunningService, gate: Gate) -> None:
    application = service.application
    set_policy(gate)
    side = met(service, gate, Signed())
    before = ask(service, gate, side, Signed())[1][0].visitor

    service.run(rotate_key(application.stores.store, application.sealer, "visitor", service.clock.now_ms()))
    service.clock.advance(seconds=600)
    now_ms = service.clock.now_ms()
    application.keyring.replace(service.run(load_keys(application.stores.store, application.sealer, now_ms)), now_ms)
    seen = side.recognised
    after = {ask(service, gate, side, Signed())[1][0].visitor for _ in range(5)}

    assert side.recognised > seen
    assert len(after) == 1
    assert before not in after


def test_what_is_known_of_an_agents_address_changes_with_the_threat_data(
    service: RunningService, gate: Gate, tmp_path_factory: pytest.TempPathFactory
) -> None:
    set_policy(gate)
    # These models see no difference between rates, so that most requests are settled.
    side = met(service, gate, Signed(), models_of())
    before = [ask(service, gate, side, Signed())[1][0].labels for _ in range(10)]

    block_addresses(service.application, tmp_path_factory.mktemp("lists"))
    after = [ask(service, gate, side, Signed())[1][0].labels for _ in range(10)]

    assert not any("list.block" in labels for labels in before)
    assert all("list.block" in labels for labels in after)


def test_a_familiar_agent_is_scored_by_the_models_of_the_moment(service: RunningService, gate: Gate) -> None:
    set_policy(gate)
    models, others = models_of(), ModelDirectory()
    side = met(service, gate, Signed(), models)
    before = {ask(service, gate, side, Signed())[1][0].scores["bot"] for _ in range(10)}

    models._view = others.view
    after = {ask(service, gate, side, Signed())[1][0].scores["bot"] for _ in range(10)}

    assert before.isdisjoint(after)
