"""The policy checker: its results for signed, claimed and priced requests, in the order of the contract."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentgate.agents.identity import SignedMessage
from agentgate.agents.policy_checker import AgentClaim, AgentPolicyChecker, AgentRequestContext, CheckedAgent
from agentgate.agents.policy_decision import Quotas
from agentgate.agents.signing.fields import digest_of
from agentgate.agents.signing.key_sets import KeyFound, KeySource
from agentgate.agents.signing.repository import Replays, ReplayStore
from agentgate.agents.signing.verify import AgentVerifier
from agentgate.agents.submission_repository import ChargedSum, SubmissionStore
from agentgate.browser_check import testing_sites
from agentgate.lib.clock import FixedClock
from agentgate.lib.enums import AgentVerdict, ChargeSource, Mode, Outcome
from agentgate.lib.limiter import Limiter
from agentgate.server.stores.open import HOT
from agentgate.sites.agent_policy import read_policy
from agentgate.sites.directory import SiteView
from agentgate.sites.records import SiteAction
from agentgate.storage.migrate import apply
from agentgate.storage.shared_cache.memory import MemorySharedCache
from agentgate.storage.sqlite.database import SqliteDatabase
from tests.support.agent_client import SigningAgent
from tests.unit.agents.verifying import KnownKeys

pytestmark = pytest.mark.anyio

NOW_MS = 1_794_744_000_000
ORIGIN = "https://shop.example"
AGENT = SigningAgent()
STRANGER = SigningAgent("https://stranger.example", seed=bytes([3] * 32))
DIRECTORY_OF_STRANGER = f"{STRANGER.url}/.well-known/http-message-signatures-directory"
SITE = next(iter(testing_sites.testing_sites().values()))
ACTIONS = {
    "submit": SiteAction(browser_required=True),
    "upload": SiteAction(browser_required=True, require_content_digest=True),
}


class CheckedSite:
    """A policy checker over a real store, and a site."""

    def __init__(self, database: SqliteDatabase, keys: KeySource) -> None:
        clock = FixedClock(NOW_MS)
        self.charges = SubmissionStore(database)
        self.parts: dict[str, Any] = {
            "replays": Replays(ReplayStore(database)),
            "quotas": Quotas(Limiter(MemorySharedCache(clock), clock)),
            "charges": self.charges,
        }
        self.checker = AgentPolicyChecker(AgentVerifier(keys), **self.parts)
        self.site: SiteView = replace(SITE, mode=Mode.ENFORCE, actions=ACTIONS)

    def with_policy(self, **policy: Any) -> "CheckedSite":
        """Let the site have a policy; without `agents`, the usual agent is allowed."""
        policy.setdefault("agents", {AGENT.url: {"decision": "allow", "jwks": AGENT.jwks}})
        self.site = replace(self.site, agent_policy=read_policy(policy))
        return self

    async def check(
        self, message: SignedMessage, *, action: str | None = None, claimed: str | None = None
    ) -> CheckedAgent:
        """Return the ruling, awaited where it must be."""
        found = self.checker.check(
            message, self.site, AgentRequestContext(action, claim=lambda: AgentClaim(claimed)), now_ms=NOW_MS
        )
        return found if isinstance(found, CheckedAgent) else await found

    async def charged(self) -> list[ChargedSum]:
        """Return what was charged."""
        return await self.charges.sum_charges(self.site.id, from_ms=0, to_ms=NOW_MS + 1)


@pytest.fixture
async def checked(tmp_path: Path) -> AsyncIterator[CheckedSite]:
    database = SqliteDatabase(tmp_path / "hot.db", synchronous="OFF")
    await apply(database, HOT, clock=FixedClock(NOW_MS))
    yield CheckedSite(database, KnownKeys({DIRECTORY_OF_STRANGER: [STRANGER.key.jwk]})).with_policy()
    await database.close()


def signed(method: str = "GET", path: str = "/", *, agent: SigningAgent = AGENT, **how: Any) -> SignedMessage:
    headers = agent.headers(method, ORIGIN + path, created=NOW_MS // 1000, **how)
    return message(method, path, headers)


def message(method: str = "GET", path: str = "/", headers: dict[str, str] | None = None) -> SignedMessage:
    return SignedMessage(
        method=method,
        scheme="https",
        authority="shop.example",
        target=path,
        headers={name.encode(): value.encode() for name, value in (headers or {}).items()},
    )


def against(ruling: CheckedAgent, *, has_receipt: bool = False) -> tuple[str, Outcome] | None:
    found = ruling.against(has_receipt=has_receipt)
    return None if found is None else (found.reason, found.outcome)


async def test_a_named_agent_needs_no_token_and_the_rules_learn_who_it_is(checked: CheckedSite) -> None:
    ruling = await checked.check(signed(), action="submit")

    assert against(ruling) is None
    assert ruling.waives_receipt
    assert ruling.facts is not None
    assert (ruling.facts.verdict, ruling.facts.agent) == (AgentVerdict.VERIFIED, AGENT.url)


async def test_an_unsigned_request_that_claims_nothing_is_nobodys_business(checked: CheckedSite) -> None:
    found = checked.checker.check(message(), checked.site, AgentRequestContext(), now_ms=NOW_MS)

    assert isinstance(found, CheckedAgent)
    assert against(found) is None
    assert found.facts is None
    assert not found.waives_receipt


def names_of(ruling: CheckedAgent) -> set[str]:
    return {name.decode() for name, _ in ruling.headers}


@pytest.mark.parametrize(
    ("unverified", "expected"),
    [
        ("challenge", ("agent_unverified", Outcome.CHALLENGE)),
        ("block", ("agent_unverified", Outcome.BLOCK)),
        ("allow", None),
    ],
)
async def test_a_claim_without_proof_is_treated_as_in_the_policy(checked: CheckedSite, unverified, expected) -> None:
    claim = await checked.with_policy(unverified=unverified).check(message(), claimed="GPTBot")
    nobody_can_check = await checked.with_policy(unverified=unverified).check(
        signed(agent=SigningAgent("https://b.example"))
    )

    assert against(claim) == against(nobody_can_check) == expected
    assert ("accept-signature" in names_of(claim)) == (expected is not None)
    assert not claim.waives_receipt


async def test_a_person_who_passed_the_check_may_claim_what_they_likes(checked: CheckedSite) -> None:
    claim = await checked.check(message(), claimed="GPTBot")

    assert against(claim, has_receipt=True) is None


async def test_a_name_can_be_denied_and_allowed_but_proves_nothing(checked: CheckedSite) -> None:
    names = {"GPTBot": {"decision": "deny"}, "FeedBot": {"decision": "allow"}}
    checked.with_policy(agents=names, unverified="block")

    denied, let_through = (
        await checked.check(message(), claimed="gptbot"),
        await checked.check(message(), claimed="FeedBot"),
    )

    assert against(denied, has_receipt=True) == ("agent_denied", Outcome.BLOCK)
    assert against(let_through) is None
    assert not let_through.waives_receipt


async def test_a_bad_signature_is_rejected_and_proves_nothing(checked: CheckedSite) -> None:
    tampered = signed()
    other = SignedMessage(method="POST", scheme="https", authority="shop.example", target="/", headers=tampered.headers)

    ruling = await checked.check(other)

    assert against(ruling, has_receipt=True) == ("agent_signature_invalid", Outcome.BLOCK)
    assert ruling.facts is not None
    assert (ruling.facts.verdict, ruling.facts.agent) == (AgentVerdict.INVALID, None)
    assert "accept-signature" in names_of(ruling)


async def test_a_request_that_is_repeated_is_rejected(checked: CheckedSite) -> None:
    request = signed()

    first, second = await checked.check(request), await checked.check(request)

    assert against(first) is None
    assert against(second) == ("agent_signature_invalid", Outcome.BLOCK)
    # In monitor mode the rules are still evaluated. To them, the request has no agent.
    assert second.facts is not None
    assert (second.facts.verdict, second.facts.agent) == (AgentVerdict.INVALID, None)


async def test_of_64_equal_requests_at_once_one_is_allowed(checked: CheckedSite) -> None:
    request = signed()
    checked.with_policy(quotaPerMinute=64)

    rulings = await asyncio.gather(*(checked.check(request) for _ in range(64)))

    assert [against(ruling) for ruling in rulings].count(None) == 1


@pytest.mark.parametrize(
    ("policy", "expected", "with_receipt"),
    [
        ({"default": "allow"}, None, None),
        ({"default": "challenge"}, ("policy", Outcome.CHALLENGE), None),
        ({"default": "block"}, ("agent_denied", Outcome.BLOCK), ("agent_denied", Outcome.BLOCK)),
    ],
)
async def test_a_verified_agent_that_is_not_named_follows_the_default(
    checked: CheckedSite, policy, expected, with_receipt
) -> None:
    checked.with_policy(agents={}, **policy)

    ruling = await checked.check(signed(agent=STRANGER), action="submit")

    assert against(ruling) == expected
    assert against(ruling, has_receipt=True) == with_receipt
    assert not ruling.waives_receipt


async def test_what_is_shown_about_an_action_counts_for_it_alone(checked: CheckedSite) -> None:
    entry = {"decision": "allow", "jwks": AGENT.jwks, "actions": {"submit": "challenge", "upload": "deny"}}
    checked.with_policy(agents={AGENT.url: entry})

    assert against(await checked.check(signed(), action="submit")) == ("policy", Outcome.CHALLENGE)
    assert against(await checked.check(signed(), action="upload")) is not None
    assert against(await checked.check(signed())) is None


async def test_the_quota_is_by_agent_and_by_action(checked: CheckedSite) -> None:
    checked.with_policy(quotaPerMinute=3, actions={"submit": {"quotaPerMinute": 1}})

    found = [against(await checked.check(signed(), action=action)) for action in ("submit", "submit", None, None)]

    over = ("rate_limited", Outcome.BLOCK)
    assert found == [None, over, None, over]


async def test_the_quota_of_one_site_is_not_used_up_at_another(checked: CheckedSite) -> None:
    checked.with_policy(quotaPerMinute=1)
    assert against(await checked.check(signed())) is None

    checked.site = replace(checked.site, number=checked.site.number + 1)

    assert against(await checked.check(signed())) is None
    assert against(await checked.check(signed())) == ("rate_limited", Outcome.BLOCK)


async def test_a_priced_action_asks_for_its_price_and_settles_it_once_allowed(checked: CheckedSite) -> None:
    checked.with_policy(actions={"submit": {"price": "USD 0.05"}})

    unpaid = await checked.check(signed(), action="submit")
    paid = await checked.check(signed(headers={"crawler-max-price": "USD 0.10"}), action="submit")

    assert against(unpaid) == ("payment_required", Outcome.BLOCK)
    assert (b"crawler-price", b"USD 0.05") in unpaid.headers
    assert against(paid) is None
    assert await checked.charged() == []
    told = await checked.checker.charge(paid, checked.site, action="submit", decision_id=7, now_ms=NOW_MS)
    assert told == [(b"crawler-charged", b"USD 0.05")]
    [charged] = await checked.charged()
    assert (charged.agent, charged.currency, charged.minor_units) == (AGENT.url, "USD", 5)
    assert (charged.source, charged.action) == (ChargeSource.GATEWAY, "submit")


async def test_monitor_mode_charges_no_one(checked: CheckedSite) -> None:
    checked.with_policy(actions={"submit": {"price": "USD 0.05"}})
    paid = await checked.check(signed(headers={"crawler-max-price": "USD 0.10"}), action="submit")
    watched = replace(checked.site, mode=Mode.MONITOR)

    assert await checked.checker.charge(paid, watched, action="submit", decision_id=7, now_ms=NOW_MS) == []
    assert await checked.charged() == []


async def test_robots_txt_costs_nothing(checked: CheckedSite) -> None:
    entry = {"decision": "allow", "jwks": AGENT.jwks, "price": "USD 0.05"}
    checked.with_policy(agents={AGENT.url: entry})

    free, priced = await checked.check(signed(path="/robots.txt")), await checked.check(signed(path="/page"))

    assert (against(free), free.price) == (None, None)
    assert against(priced) == ("payment_required", Outcome.BLOCK)


async def test_a_claim_pays_for_nothing(checked: CheckedSite) -> None:
    checked.with_policy(unverified="allow", actions={"submit": {"price": "USD 0.05"}})

    ruling = await checked.check(
        message(headers={"crawler-exact-price": "USD 0.05"}), action="submit", claimed="GPTBot"
    )

    assert against(ruling) == ("payment_required", Outcome.BLOCK)
    assert (b"crawler-error", b"StrongAuthRequired") in ruling.headers


def with_digest(body: bytes, seen: bytes | None, *, path: str = "/upload") -> SignedMessage:
    sent = signed("POST", path, body=body)
    extra = {} if seen is None else {b"x-original-body-digest": seen}
    return SignedMessage(
        method=sent.method,
        scheme=sent.scheme,
        authority=sent.authority,
        target=sent.target,
        headers={**sent.headers, **extra},
    )


@pytest.mark.parametrize(
    ("request_of", "action", "expected"),
    [
        (lambda: signed("POST", "/upload"), "upload", "agent_signature_invalid"),
        (lambda: signed("POST", "/upload"), "submit", None),
        (lambda: with_digest(b"x", None), "upload", None),
        (lambda: with_digest(b"x", _digest(b"x")), "upload", None),
        (lambda: with_digest(b"x", _digest(b"y")), "upload", "agent_signature_invalid"),
        (lambda: with_digest(b"x", _digest(b"y")), "submit", "agent_signature_invalid"),
        (lambda: with_digest(b"x", b"sha-512=:AAAA:"), "upload", "agent_signature_invalid"),
        (lambda: with_digest(b"x", b"sha-512=:AAAA:"), "submit", None),
    ],
)
async def test_the_body_must_be_the_signed_one(
    checked: CheckedSite, request_of: Callable[[], SignedMessage], action: str, expected: str | None
) -> None:
    found = against(await checked.check(request_of(), action=action))

    assert (None if found is None else found[0]) == expected


async def test_a_key_set_that_takes_its_time_makes_no_one_wait_for_long(
    checked: CheckedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgate.agents.policy_checker.KEYS_WAIT_S", 0.05)
    known = KnownKeys({DIRECTORY_OF_STRANGER: [STRANGER.key.jwk]})
    is_there = asyncio.Event()

    class LateKeys:
        def find(self, url: str, keyid: str, *, now_ms: int, hosts: Collection[str] = ()) -> Awaitable[KeyFound]:
            async def wait() -> KeyFound:
                await is_there.wait()
                return known.find(url, keyid, now_ms=now_ms, hosts=hosts)

            return wait()

    checked.checker = AgentPolicyChecker(AgentVerifier(LateKeys()), **checked.parts)

    early = await checked.check(signed(agent=STRANGER))
    is_there.set()
    late = await checked.check(signed(agent=STRANGER))

    assert (early.identity.verdict, against(early)) == (AgentVerdict.UNVERIFIED, ("agent_unverified", "challenge"))
    assert late.identity.verdict is AgentVerdict.VERIFIED


def _digest(body: bytes) -> bytes:
    return digest_of(body).encode()
