"""AgentPolicyChecker: checks a request that is signed, claims an agent, or offers a price.

Between route and token, in the contract's order: signature, replay, body digest, claim, policy, quota, price. Nothing
is charged before the request is allowed: `charge` comes last.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from secrets import token_urlsafe

from msgspec import Struct
from msgspec.structs import replace

from agentgate.agents.identity import Identity, SignedMessage
from agentgate.agents.policy_decision import (
    FREE,
    PriceOffer,
    Quotas,
    decision_of,
    is_free,
    policy_action,
    read_offer,
)
from agentgate.agents.signing.repository import Replays
from agentgate.agents.signing.verify import AgentVerifier
from agentgate.agents.submission_repository import Charge, SubmissionStore
from agentgate.decision.engine import Ruling
from agentgate.decision.signals.detectors.ai_operator import uses_of
from agentgate.decision.signals.facts import AgentFacts
from agentgate.events.decision_ids import write_id
from agentgate.lib.enums import (
    AgentPolicyAction,
    AgentPolicyDecision,
    AgentPolicyDefault,
    AgentVerdict,
    AiPurpose,
    ChargeSource,
    Mode,
    Outcome,
)
from agentgate.lib.limits import AGENT_QUOTA_RETRY_AFTER_S, GATEWAY_SIGNATURE_WINDOW_HOURS
from agentgate.sites.agent_policy import AgentEntry, AgentPolicy, asked
from agentgate.sites.directory import SiteView
from agentgate.sites.price import Price

LONGEST_S = GATEWAY_SIGNATURE_WINDOW_HOURS * 3600
_ACCEPTED = (
    'sig1=("@authority" "@method" "@path" "signature-agent";key="sig1");created;expires;nonce="{}";tag="web-bot-auth"'
)
# RFC 9110 15.5.2: a 401 names a scheme.
WWW_AUTHENTICATE = (b"www-authenticate", b'Signature realm="agents"')
BODY_DIGEST = b"x-original-body-digest"
CONTENT_DIGEST = "content-digest"
METHOD = "@method"
# Adapters wait one second for a response (`adapters/`), and return 503 after that.
KEYS_WAIT_S = 0.7
SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
# The reason of a claim that no signature proves.
UNPROVEN = "agent_unverified"

HeaderLines = list[tuple[bytes, bytes]]


def asking_line() -> tuple[bytes, bytes]:
    """Return the header line that asks for a signature, with a nonce that is free (RFC 9421 5.1)."""
    return b"accept-signature", _ACCEPTED.format(token_urlsafe(32)).encode()


class AgentClaim(Struct, frozen=True, gc=False):
    """The claim of a User-Agent, compared with the address."""

    # The claimed agent; None when none is claimed, or the address settles the claim.
    name: str | None = None
    # The claimed agent, if the address belongs to its AI operator.
    proven: str | None = None
    # Uses of the operator's named programs.
    uses: frozenset[AiPurpose] = frozenset()
    # The operator's networks are not known yet.
    is_unchecked: bool = False


class AgentRequestContext(Struct, frozen=True, gc=False):
    """Input about a request. The claim is computed on demand, for unproven requests only."""

    # The action of the route; None where there is none.
    action: str | None = None
    # An allowed page paid for the request. As with rates, no quota counts it.
    is_part: bool = False
    # The path names a file. A part of a paid page that does costs nothing more.
    is_file: bool = False
    # The agent that the User-Agent claims to be, compared with the address.
    claim: Callable[[], AgentClaim] = AgentClaim


class CheckedAgent(Struct, frozen=True, kw_only=True):
    """Result of the check: the identity, and reasons not to allow the request."""

    identity: Identity
    # For the rules; None for a request that is not signed.
    facts: AgentFacts | None = None
    # Applies with any token or clearance.
    refusal: Ruling | None = None
    # Applies unless the request has a valid token or clearance.
    challenge: Ruling | None = None
    # Response headers when one of the two applies.
    headers: HeaderLines = []
    # The signature replaces the token that the route requires.
    waives_receipt: bool = False
    # The price to charge once the request is allowed.
    price: Price | None = None

    def against(self, *, has_receipt: bool, needs_proof: bool = True) -> Ruling | None:
        """Return the denial of the request in enforce mode, or None. The policy's challenge goes before prices.

        With `needs_proof` false, the request may claim an agent without proof. Denial, quota and price still hold.
        """
        refusals = (None if has_receipt else self.challenge, self.refusal)
        return next((each for each in refusals if each is not None and (needs_proof or each.reason != UNPROVEN)), None)


class AgentPolicyChecker:
    """Checks requests of agents against the policy of a site, and stores charges."""

    def __init__(
        self,
        verifier: AgentVerifier,
        *,
        replays: Replays,
        quotas: Quotas,
        charges: SubmissionStore,
        purposes: Callable[[], Mapping[str, str]] = dict,
        on_several_machines: bool = False,
    ) -> None:
        self._verifier = verifier
        self._on_several_machines = on_several_machines
        # Of known agents, by origin.
        self._purposes = purposes
        self._replays = replays
        self._quotas = quotas
        self._charges = charges

    def check(
        self, message: SignedMessage, site: SiteView, context: AgentRequestContext, *, now_ms: int
    ) -> CheckedAgent | Awaitable[CheckedAgent]:
        """Return the ruling about a request, or an awaitable of it where keys or quotas must be awaited.

        The awaitable raises StoreUnavailable when a signature cannot be stored.
        """
        found = self._verifier.verify(message, policy=site.agent_policy, now_ms=now_ms, longest_s=LONGEST_S)
        if isinstance(found, Identity):
            return self._check_identity(found, message, site, context, now_ms=now_ms)
        return self._check_later(found, message, site, context, now_ms=now_ms)

    def recheck(
        self, ruling: CheckedAgent, message: SignedMessage, site: SiteView, context: AgentRequestContext
    ) -> CheckedAgent | Awaitable[CheckedAgent]:
        """Return the ruling about the same request under another action; its identity is already known."""
        identity = ruling.identity
        if ruling.facts is not None and ruling.facts.verdict is AgentVerdict.INVALID:
            return ruling
        if identity.verdict is not AgentVerdict.VERIFIED or identity.agent is None:
            return _rule_unproven(identity, message, site, context)
        why = _digest_problem(identity, message.headers, site, context.action)
        return (
            _signature_invalid(identity, why)
            if why is not None
            else self._apply_policy(identity, message, site, context)
        )

    def rule_unidentified(self, message: SignedMessage, site: SiteView, context: AgentRequestContext) -> CheckedAgent:
        """Return the ruling about a request whose sender was not identified in time."""
        return _rule_unproven(_KEYS_UNDER_WAY, message, site, context)

    async def charge(
        self, ruling: CheckedAgent, site: SiteView, *, action: str | None, decision_id: int, now_ms: int
    ) -> HeaderLines:
        """Store the charge for an allowed request; return the headers that inform the agent.

        Monitor mode blocks no request for a missing payment, so it charges nothing.
        """
        identity, price = ruling.identity, ruling.price
        if price is None or identity.agent is None or site.mode is Mode.MONITOR:
            return []
        charge = Charge(
            site_id=site.id,
            decision_id=write_id(decision_id),
            agent=identity.agent,
            keyid=identity.keyid or "",
            source=ChargeSource.GATEWAY,
            action=action,
            price=price,
            charged_ms=now_ms,
        )
        await self._charges.add_charge(charge)
        return [(b"crawler-charged", price.text().encode())]

    async def _check_later(
        self,
        found: Awaitable[Identity],
        message: SignedMessage,
        site: SiteView,
        context: AgentRequestContext,
        *,
        now_ms: int,
    ) -> CheckedAgent:
        ruling = self._check_identity(await _wait(found), message, site, context, now_ms=now_ms)
        return ruling if isinstance(ruling, CheckedAgent) else await ruling

    def _check_identity(
        self, identity: Identity, message: SignedMessage, site: SiteView, context: AgentRequestContext, *, now_ms: int
    ) -> CheckedAgent | Awaitable[CheckedAgent]:
        if identity.verdict is not AgentVerdict.VERIFIED or identity.agent is None:
            return _rule_unproven(identity, message, site, context)
        why = _digest_problem(identity, message.headers, site, context.action)
        if why is not None:
            return _signature_invalid(identity, why)
        identity = _strictest(identity, site.agent_policy, context.action)
        unsafe = message.method.upper() not in SAFE
        signed = [each for each in (identity, *identity.others) if self._replays.must_remember(each, unsafe=unsafe)]
        known = [self._replays.is_new_here(each, now_ms=now_ms) for each in signed]
        if False in known:
            return _signature_invalid(identity, _USED_BEFORE)
        is_stored = unsafe or self._is_worth_storing(identity, site, context)
        to_store = [each for each, is_new in zip(signed, known, strict=True) if is_stored or is_new is None]
        if to_store:
            return self._check_replay(to_store, message, site, context, unsafe=unsafe)
        return self._apply_policy(identity, message, site, context)

    def _is_worth_storing(self, identity: Identity, site: SiteView, context: AgentRequestContext) -> bool:
        """Return whether a repeated read does harm: one that costs something, or whose action asks for protection.

        On several machines, a signature that does not cover the method could also be repeated as a write elsewhere.
        """
        rules = None if context.action is None else site.actions.get(context.action)
        if rules is not None and rules.require_content_digest is True:
            return True
        if self._on_several_machines and METHOD not in identity.covered:
            return True
        uses = uses_of(self._purposes().get(identity.agent or ""), identity.purposes)
        return price_of(site, site.agent_policy.entry_for(identity.agent or ""), uses, context) is not None

    async def _check_replay(
        self,
        identities: list[Identity],
        message: SignedMessage,
        site: SiteView,
        context: AgentRequestContext,
        *,
        unsafe: bool,
    ) -> CheckedAgent:
        identity = identities[0]
        for each in identities:
            if not await self._replays.is_new(each, unsafe=unsafe):
                return _signature_invalid(identity, _USED_BEFORE)
        ruling = self._apply_policy(identity, message, site, context)
        return ruling if isinstance(ruling, CheckedAgent) else await ruling

    def _apply_policy(
        self, identity: Identity, message: SignedMessage, site: SiteView, context: AgentRequestContext
    ) -> CheckedAgent | Awaitable[CheckedAgent]:
        """Rule on a request of a verified agent."""
        policy, agent, action = site.agent_policy, identity.agent or "", context.action
        decided, is_named = policy_action(policy, agent, action), policy.entry_for(agent) is not None
        if decided is AgentPolicyAction.DENY:
            return CheckedAgent(identity=identity, facts=agent_facts(identity), refusal=_DENIED)
        uses = uses_of(self._purposes().get(agent), identity.purposes)
        offer = _offer(message, price_of(site, policy.entry_for(agent), uses, context), identity)
        if context.is_part:
            return _rule_counted(identity, decided, offer, is_named=is_named, is_within=True)
        if self._quotas.is_local:
            is_within = self._quotas.is_within_now(site, agent, action)
            return _rule_counted(identity, decided, offer, is_named=is_named, is_within=is_within)
        return _count_first(self._quotas.is_within(site, agent, action), identity, decided, offer, is_named=is_named)


async def _count_first(
    counting: Awaitable[bool], identity: Identity, decided: AgentPolicyAction, offer: PriceOffer, *, is_named: bool
) -> CheckedAgent:
    return _rule_counted(identity, decided, offer, is_named=is_named, is_within=await counting)


def _rule_counted(
    identity: Identity, decided: AgentPolicyAction, offer: PriceOffer, *, is_named: bool, is_within: bool
) -> CheckedAgent:
    facts = agent_facts(identity, is_named=is_named)
    challenge = _CHALLENGED if decided is AgentPolicyAction.CHALLENGE else None
    if not is_within:
        return CheckedAgent(
            identity=identity, facts=facts, refusal=_OVER_QUOTA, challenge=challenge, headers=[_RETRY_AFTER]
        )
    waives_receipt = is_named and challenge is None
    if offer is FREE:
        return CheckedAgent(identity=identity, facts=facts, challenge=challenge, waives_receipt=waives_receipt)
    return CheckedAgent(
        identity=identity,
        facts=facts,
        refusal=_payment(offer),
        challenge=challenge,
        headers=offer.headers,
        waives_receipt=waives_receipt,
        price=offer.price,
    )


def _strictest(identity: Identity, policy: AgentPolicy, action: str | None) -> Identity:
    """Return the identity whose agent the policy treats most strictly, unless one signature covers the others."""
    if not identity.others or identity.is_outermost:
        return identity
    signed = (replace(identity, others=()), *identity.others)
    chosen = max(signed, key=lambda each: _STRICTNESS[policy_action(policy, each.agent or "", action)])
    return replace(chosen, others=tuple(each for each in signed if each is not chosen))


async def _wait(found: Awaitable[Identity]) -> Identity:
    """Wait for a key set no longer than a proxy waits for us. The fetch continues, for the agent's next request."""
    finding = asyncio.ensure_future(found)
    done, _ = await asyncio.wait([finding], timeout=KEYS_WAIT_S)
    return finding.result() if done else _KEYS_UNDER_WAY


def agent_facts(identity: Identity, *, is_named: bool = False) -> AgentFacts | None:
    if identity.verdict is AgentVerdict.UNSIGNED:
        return None
    is_verified = identity.verdict is AgentVerdict.VERIFIED
    return AgentFacts(
        verdict=identity.verdict,
        agent=identity.agent if is_verified else None,
        purposes=identity.purposes,
        is_named=is_named,
    )


def _rule_unproven(
    identity: Identity, message: SignedMessage, site: SiteView, context: AgentRequestContext
) -> CheckedAgent:
    """Rule on a request whose sender is not verified."""
    if identity.verdict is AgentVerdict.INVALID:
        return _signature_invalid(identity, identity.why)
    facts, claimed = agent_facts(identity), context.claim()
    if claimed.proven is not None:
        entry = site.agent_policy.entry_named(claimed.proven)
        if entry is not None or site.ai_use is not None:
            return _rule_proven(identity, message, site, context, uses=claimed.uses, entry=entry)
        # A site that has not decided about AI use asks for a signature, as of every claim.
        claimed = AgentClaim(claimed.proven)
    claim = _claim(identity, site.agent_policy, claimed)
    if claim is not None and claim.outcome is Outcome.BLOCK:
        headers = [] if claim is _DENIED else [asking_line()]
        return CheckedAgent(identity=identity, facts=facts, refusal=claim, headers=headers)
    offer = _offer(message, site.agent_policy.price_for(None, context.action), identity)
    return CheckedAgent(
        identity=identity,
        facts=facts,
        refusal=_payment(offer),
        challenge=claim,
        headers=offer.headers if claim is None else [asking_line(), WWW_AUTHENTICATE, *offer.headers],
    )


def _rule_proven(
    identity: Identity,
    message: SignedMessage,
    site: SiteView,
    context: AgentRequestContext,
    *,
    uses: frozenset[AiPurpose],
    entry: AgentEntry | None,
) -> CheckedAgent:
    """Rule on a request that comes from the networks of the AI operator that it names."""
    facts = agent_facts(identity) if entry is None else AgentFacts(verdict=identity.verdict, is_named=True)
    decided = AgentPolicyAction.ALLOW if entry is None else decision_of(entry, context.action)
    if decided is AgentPolicyAction.DENY:
        return CheckedAgent(identity=identity, facts=facts, refusal=_DENIED)
    offer = _offer(message, price_of(site, entry, uses, context), identity)
    challenge = _CHALLENGED if decided is AgentPolicyAction.CHALLENGE else None
    return CheckedAgent(
        identity=identity,
        facts=facts,
        refusal=_payment(offer),
        challenge=challenge,
        headers=[asking_line(), *offer.headers] if offer.headers else [],
        waives_receipt=entry is not None and challenge is None,
    )


def price_of(
    site: SiteView, entry: AgentEntry | None, uses: Collection[AiPurpose], context: AgentRequestContext
) -> Price | None:
    """Return the price of a request: the agent's, the action's, or the AI use's price; None if it is free.

    The price of an agent or of a use covers a page with its files. An action's price is due each time.
    """
    is_included = context.is_part and context.is_file
    if entry is not None and isinstance(entry.price, str):
        return None if is_included else asked(entry.price)
    price = site.agent_policy.price_for(None, context.action)
    if price is not None or entry is not None or is_included or site.ai_use is None:
        return price
    return site.ai_use.price_of(uses)


def _claim(identity: Identity, policy: AgentPolicy, claim: AgentClaim) -> Ruling | None:
    """Return the denial of an unproven claim; None without a claim or without a reason."""
    claimed = claim.name
    if identity.verdict is AgentVerdict.UNSIGNED and claimed is None:
        return None
    entry = None if claimed is None else policy.entry_named(claimed)
    if entry is not None:
        # The site's policy for this claimed name. The claim proves nothing, so no token is waived.
        return _DENIED if entry.decision is AgentPolicyDecision.DENY else None
    if policy.unverified is AgentPolicyDefault.ALLOW:
        return None
    outcome = Outcome.CHALLENGE if policy.unverified is AgentPolicyDefault.CHALLENGE else Outcome.BLOCK
    why = (
        identity.why
        or (_NOT_CHECKED if claim.is_unchecked else None)
        or "The User-Agent names an agent and no signature proves it. Sign as described in Accept-Signature."
    )
    return Ruling(outcome, UNPROVEN, hint=why)


def _signature_invalid(identity: Identity, why: str | None) -> CheckedAgent:
    # The signature proves nothing now, so the rules must not see a verified agent.
    facts = AgentFacts(verdict=AgentVerdict.INVALID)
    refusal = Ruling(Outcome.BLOCK, "agent_signature_invalid", hint=why)
    return CheckedAgent(identity=identity, facts=facts, refusal=refusal, headers=[asking_line()])


def _offer(message: SignedMessage, price: Price | None, identity: Identity) -> PriceOffer:
    if price is None or is_free(message.method, message.target.partition("?")[0]):
        return FREE
    return read_offer(price, message.headers, identity)


def _payment(offer: PriceOffer) -> Ruling | None:
    if offer.reason is None or offer.error is None:
        return None
    return Ruling(Outcome.BLOCK, offer.reason, hint=f"{offer.error.value}: Crawler-Price contains the price.")


def _digest_problem(
    identity: Identity, headers: Mapping[bytes, bytes], site: SiteView, action: str | None
) -> str | None:
    """Return the problem with the signature's body digest; None if there is none.

    The gateway does not see the body. The digest is compared with the adapter's, where it sends one.
    """
    rules = None if action is None else site.actions.get(action)
    is_required = rules is not None and rules.require_content_digest is True
    is_covered = CONTENT_DIGEST in identity.covered
    if not is_covered:
        return "This action requires a Content-Digest that the signature covers." if is_required else None
    seen = headers.get(BODY_DIGEST)
    if seen is None:
        return None
    signed, actual = _digests(headers.get(CONTENT_DIGEST.encode(), b"")), _digests(seen)
    shared = signed.keys() & actual.keys()
    if any(signed[name] != actual[name] for name in shared):
        return "Content-Digest does not match the body."
    if is_required and not shared:
        return "This action requires a Content-Digest with the proxy's algorithm (sha-256)."
    return None


def _digests(value: bytes) -> dict[bytes, bytes]:
    members = (member.strip(b" \t").partition(b"=") for member in value.split(b","))
    return {name.lower(): digest for name, _, digest in members}


_KEYS_UNDER_WAY = Identity(
    verdict=AgentVerdict.UNVERIFIED, why="The agent's key set is still being fetched. Try again in a moment."
)
_STRICTNESS = {AgentPolicyAction.ALLOW: 0, AgentPolicyAction.CHALLENGE: 1, AgentPolicyAction.DENY: 2}
_NOT_CHECKED = "The operator's networks are not checked yet: AgentGate has not read its list or DNS. Try again later."
_USED_BEFORE = "This signature was used before. Sign every request separately, with a new nonce."
_DENIED = Ruling(Outcome.BLOCK, "agent_denied", hint="The site's policy denies this action to this agent.")
_CHALLENGED = Ruling(Outcome.CHALLENGE, "policy", hint="The site requires a person to approve this agent's actions.")
_OVER_QUOTA = Ruling(Outcome.BLOCK, "rate_limited", hint="The agent exceeded its quota for this minute.")
_RETRY_AFTER = (b"retry-after", b"%d" % AGENT_QUOTA_RETRY_AFTER_S)
