"""Scrutiny: evidence beyond the body of one check, from probes and from the checks of other visitors."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from agentgate.browser_check.admission import AdmittedPage
from agentgate.browser_check.budgets import TokenBudgets
from agentgate.browser_check.clusters import ClusterMembership, Clusters
from agentgate.browser_check.judge import Proof
from agentgate.browser_check.private_tokens import PrivateTokens
from agentgate.browser_check.probes.checker import KEPT_MS, DrawnProbes, ProbeChecker
from agentgate.browser_check.probes.engines import claim_of
from agentgate.browser_check.probes.excuses import may_be_excused
from agentgate.browser_check.probes.judge import UNKNOWN, Judgment, ProbeState
from agentgate.browser_check.records import VerifyInput
from agentgate.browser_check.repository import StoredChallenge
from agentgate.browser_check.step_up import counts_of, was_counted
from agentgate.browser_check.trial import Trial
from agentgate.browser_check.work import WorkLevel
from agentgate.decision.signals.evidence import read_evidence
from agentgate.http.address import network_of
from agentgate.http.call import Call
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.enums import WidgetMode
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.shared_cache import SharedCache

# A visitor's browser solves its work and runs its program. After a few wrong proofs within an hour the visitor gets
# harder work, and after many the whole network (the /24 of IPv4, the /48 of IPv6): one visitor's failures do not slow
# down the neighbors.
FAILED_BY_VISITOR = Window("browser-failed-visitor", 5, HOUR_MS)
FAILED_BY_NETWORK = Window("browser-failed-network", 20, HOUR_MS)
# Budgets of farms. A network with this number of checks from clusters without human input gets the highest difficulty.
CLUSTERED_CHECKS = Window("cluster-network", 5, HOUR_MS)
# Right responses to the interactive challenge that count for such a cluster. One may be from the person whose input was
# copied.
CLUSTER_ANSWERS = Window("cluster-answers", 3, HOUR_MS)
# Private tokens that count for one cluster: a farm can own a few devices that get them.
CLUSTER_TOKENS = Window("cluster-private-tokens", 10, HOUR_MS)
SPENT = "cluster.spent"


class Findings(Struct, frozen=True):
    """The evidence as signals read it, and the judgment on the probes' results."""

    evidence: dict[str, Any]
    probes: Judgment
    # Whether the response to the interactive challenge holds: its own probes, and input statistics that have grown
    # since it was required.
    answer_holds: bool


class Scrutiny:
    """Raises work for networks and clusters that failed, and collects the evidence of a verification."""

    def __init__(
        self, probes: ProbeChecker, private_tokens: PrivateTokens, *, limiter: Limiter, shared_cache: SharedCache
    ) -> None:
        self.probes = probes
        self.private_tokens = private_tokens
        self._limiter = limiter
        self._shared_cache = shared_cache
        self._clusters = Clusters(shared_cache)
        self._budgets = TokenBudgets(shared_cache)

    async def level(self, call: Call, page: AdmittedPage) -> WorkLevel:
        """Return the least work that network and cluster get."""
        request, network = call.request, network_of(call.request.address)
        if await self._limiter.is_over(CLUSTERED_CHECKS, network):
            return WorkLevel.HIGH
        is_raised = (
            (await self._budgets.next(page.site.number, request.address, call.now)).is_over(part=2)
            or self._clusters.is_suspected(page.site.number, request)
            or await self.probes.has_failed(request.address)
            or await self._limiter.is_over(FAILED_BY_VISITOR, page.binding.visitor)
            or await self._limiter.is_over(FAILED_BY_NETWORK, network)
        )
        return WorkLevel.RAISED if is_raised else WorkLevel.USUAL

    async def may_be_silent(self, call: Call, page: AdmittedPage) -> bool:
        """Count a check that passes; return whether address and network may pass it without a visible challenge."""
        budget = await self._budgets.count(page.site.number, call.request.address, call.now)
        return not budget.is_over()

    async def inspect(
        self, call: Call, page: AdmittedPage, challenge: StoredChallenge, body: VerifyInput, proof: Proof
    ) -> Findings:
        """Judge the probes and the evidence that the page sent; with test keys nothing is counted."""
        request = call.request
        given = None if isinstance(body.probes, msgspec.UnsetType) else body.probes
        judgment = await self.probes.judge(
            challenge,
            given,
            user_agent=request.header("user-agent"),
            address=request.address,
            is_displayed=is_displayed(body),
        )
        evidence: dict[str, Any] = {
            "signals": body.signals,
            "instrument": "passed" if proof.instrument else "failed",
            "probes": judgment.evidence,
        }
        if isinstance(body.interaction, dict):
            evidence["interaction"] = body.interaction
        if not page.test:
            if not (proof.work and proof.instrument):
                await self._limiter.count(FAILED_BY_VISITOR, page.binding.visitor)
                await self._limiter.count(FAILED_BY_NETWORK, network_of(request.address))
            evidence["clusters"] = await self._others(call, page, challenge, body, proof)
        holds = page.test or not proof.answer or await self._holds(call, challenge, body, judgment)
        return Findings(evidence, judgment, holds)

    async def _others(
        self, call: Call, page: AdmittedPage, challenge: StoredChallenge, body: VerifyInput, proof: Proof
    ) -> tuple[str, ...]:
        """Return evidence beyond the check itself: its cluster, the cluster's budgets, a private token's issuer."""
        member = await self._membership(call, page, challenge, body)
        vouched = await self.private_tokens.labels(challenge, page.site)
        if not member.labels:
            return vouched
        if vouched and not await self._limiter.count(CLUSTER_TOKENS, member.cluster):
            vouched = ()
        if not member.is_replayed:
            return member.labels + vouched
        await self._limiter.count(CLUSTERED_CHECKS, network_of(call.request.address))
        is_spent = proof.answer is True and not await self._limiter.count(CLUSTER_ANSWERS, member.cluster)
        return member.labels + vouched + ((SPENT,) if is_spent else ())

    async def _membership(
        self, call: Call, page: AdmittedPage, challenge: StoredChallenge, body: VerifyInput
    ) -> ClusterMembership:
        """Return the cluster of a check. It remains in its first cluster, even if its input statistics grow."""
        name = f"cluster-of:{challenge.id}"
        kept = await self._shared_cache.get(name) if challenge.attempts > 1 else None
        if kept is not None:
            return msgspec.msgpack.decode(kept, type=ClusterMembership)
        member = await self._clusters.observe(
            page.site.number,
            call.request,
            body.signals,
            body.interaction,
            call.now,
            machine_tokens=page.site.machine_tokens_per_hour,
        )
        if member.labels:
            await self._shared_cache.put(name, msgspec.msgpack.encode(member), ttl_ms=KEPT_MS)
        return member

    async def ask(self, trial: Trial) -> DrawnProbes | None:
        """Draw the interactive challenge's probes, and store the page's counts at that time."""
        interaction = (trial.facts.evidence or {}).get("interaction")
        counted = counts_of(interaction) if isinstance(interaction, Mapping) else None
        if trial.challenge.stepped_ms is None and counted is not None:
            await self._shared_cache.put(_shown(trial.challenge), msgspec.msgpack.encode(counted), ttl_ms=KEPT_MS)
        request = trial.call.request
        return self.probes.issue_again(
            trial.challenge, user_agent=request.header("user-agent"), address=request.address
        )

    async def _holds(self, call: Call, challenge: StoredChallenge, body: VerifyInput, first: Judgment) -> bool:
        """Return whether a response agrees with the counts and probes that only the service knows."""
        answer = body.answer
        if isinstance(answer, msgspec.UnsetType):
            return True
        if challenge.widget is WidgetMode.INTERACTIVE:
            # The interactive challenge came with the challenge itself, so its probes are just as fresh.
            return self._is_engine(call, first, first)
        given = None if isinstance(answer.probes, msgspec.UnsetType) else answer.probes
        fresh = self.probes.judge_again(challenge, given, user_agent=call.request.header("user-agent"))
        kept = await self._shared_cache.get(_shown(challenge))
        before = (0.0, 0.0) if kept is None else msgspec.msgpack.decode(kept, type=tuple[float, float])
        interaction = body.interaction if isinstance(body.interaction, dict) else {}
        return was_counted(answer.steps, interaction, before) and self._is_engine(call, first, fresh)

    def _is_engine(self, call: Call, first: Judgment, fresh: Judgment) -> bool:
        """Return whether the results come from an engine, or are excused."""
        if fresh.state is ProbeState.WRONG:
            return False
        # A copy of an older SDK, kept by a cache, knows one draw only.
        if first.state is ProbeState.RIGHT or fresh.state not in {ProbeState.MISSING, *UNKNOWN}:
            return True
        claim = claim_of(call.request.header("user-agent"))
        return may_be_excused(claim, fresh, first) and self.probes.excuses.give(call.now)

    def learn(self, call: Call, findings: Findings, labels: tuple[str, ...]) -> None:
        """Let the probes learn from a session with this decision."""
        self.probes.learn(findings.probes, labels, address=call.request.address, now_ms=call.now)


def is_displayed(body: VerifyInput) -> bool:
    """Return whether a page must be displayed: it is in no frame, or a pointer has moved over it."""
    screen = read_evidence(body.signals).part("screen")
    counted = counts_of(body.interaction) if isinstance(body.interaction, dict) else None
    return screen.is_true("isTop") or (counted is not None and sum(counted) > 0)


def _shown(challenge: StoredChallenge) -> str:
    return f"shown:{challenge.id}"
