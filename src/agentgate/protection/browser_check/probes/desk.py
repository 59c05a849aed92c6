"""ProbeDesk: draws probes for a challenge, judges the answers, and counts the networks that fail."""

from typing import Any

import msgspec
from msgspec import Struct

from agentgate.lib.bounded_cache import BoundedCache
from agentgate.lib.clock import HOUR_MS, MINUTE_MS
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.shared_cache import FastStore
from agentgate.protection.browser_check.ports import StoredChallenge
from agentgate.protection.browser_check.probes.chains import CHAINS, draw_chains
from agentgate.protection.browser_check.probes.draw import Drawn, Recent, draw_programs
from agentgate.protection.browser_check.probes.engines import Claim, claim_of
from agentgate.protection.browser_check.probes.generate import Program, make_program
from agentgate.protection.browser_check.probes.judge import FAILURES, Judgement, State, judge
from agentgate.protection.browser_check.probes.pools import Pools
from agentgate.protection.browser_check.probes.ticket import Asked, Ticket, seal, unseal
from agentgate.protection.signals.rates import network_of

# A network with so many sessions without evidence of an engine within an hour gets raised work.
FAILED = Window("probes-failed-network", 5, HOUR_MS)
# Longer than a challenge lives.
KEPT_MS = 10 * MINUTE_MS
MOST_PROGRAMS_KEPT = 2_048


class Draw(Struct, frozen=True):
    """What a challenge carries: the sealed ticket, and the programs as JSON."""

    draw: str
    programs: list[msgspec.Raw]


class ProbeDesk:
    """Probes of all challenges. What is remembered of networks is bounded and forgotten within the hour."""

    def __init__(self, pools: Pools, *, fast: FastStore, limiter: Limiter) -> None:
        self._pools = pools
        self._fast = fast
        self._limiter = limiter
        self._recent = Recent()
        self._programs: BoundedCache[tuple[str, int], msgspec.Raw] = BoundedCache(MOST_PROGRAMS_KEPT)

    def issue(self, challenge: StoredChallenge, *, user_agent: str | None, address: str) -> Draw | None:
        """Draw the probes of a challenge; None for a client that claims no browser which could answer them."""
        claim, now_ms = claim_of(user_agent), challenge.issued_ms
        if not claim.is_able:
            return None
        pools, network = self._pools.live(now_ms), network_of(address)
        drawn = draw_programs(pools, challenge.seed, engine=claim.engine, had=self._recent.had(network, now_ms))
        self._recent.note(network, drawn, now_ms)
        ticket = Ticket(
            engine=claim.engine,
            version=claim.version,
            seen=all(one.pool.has_seen(claim.engine, claim.version) for one in drawn),
            asked=tuple(
                Asked(one.known.family, one.known.answer_of(claim.engine), one.pool.key, one.known.number)
                for one in drawn
            ),
        )
        programs = [self._program(one) for one in drawn]
        chains = [_encoded(chain.program) for chain in draw_chains(challenge.seed)]
        return Draw(seal(ticket, challenge.seed, challenge.id), programs + chains)

    async def has_failed(self, address: str) -> bool:
        """Say whether so many sessions of a network gave no evidence of an engine that it gets raised work."""
        return await self._limiter.is_over(FAILED, network_of(address))

    async def judge(self, challenge: StoredChallenge, given: Any, *, user_agent: str | None, address: str) -> Judgement:
        """Judge what came with a verification. Of several for one challenge the first one's answers count."""
        key = f"probes:{challenge.id}"
        if challenge.attempts > 1:
            kept = await self._fast.get(key)
            if kept is not None:
                return msgspec.msgpack.decode(kept, type=Judgement)
        judged = judge_answers(challenge, given, claim_of(user_agent))
        await self._fast.put(key, msgspec.msgpack.encode(msgspec.structs.replace(judged, votes=())), ttl_ms=KEPT_MS)
        if judged.state in FAILURES:
            await self._limiter.count(FAILED, network_of(address))
        return judged

    def _program(self, drawn: Drawn) -> msgspec.Raw:
        found = self._programs.get(drawn.key)
        return found or self._programs.put(drawn.key, _encoded(make_program(drawn.pool.seed, drawn.known.number)))


def judge_answers(challenge: StoredChallenge, given: Any, claim: Claim) -> Judgement:
    """Judge what a page sent for a challenge, whatever shape it has. Pure."""
    if given is None:
        return Judgement(state=State.MISSING if claim.is_able else State.UNABLE)
    ticket = unseal(given.draw, challenge.seed, challenge.id)
    if ticket is None:
        # A draw that is not this challenge's: somebody brings answers from elsewhere.
        return Judgement(state=State.WRONG, of=0)
    if given.answers == "none":
        return Judgement(state=State.NONE)
    if len(given.answers) != len(ticket.asked) + CHAINS:
        return Judgement(state=State.WRONG, of=len(ticket.asked))
    return judge(ticket, draw_chains(challenge.seed), given.answers, claim)


def _encoded(program: Program) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(program))
