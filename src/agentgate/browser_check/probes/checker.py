"""ProbeChecker: draws probes for a challenge, judges results, counts networks that fail, and learns from the others."""

import hashlib
from collections.abc import Container, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from agentgate.browser_check.probes.chains import CHAINS, draw_chains
from agentgate.browser_check.probes.dice import Dice
from agentgate.browser_check.probes.draw import DrawnProgram, RecentPrograms, draw_programs
from agentgate.browser_check.probes.engines import BrowserClaim, claim_of
from agentgate.browser_check.probes.excuses import Excuses
from agentgate.browser_check.probes.generate import Program, family_of, make_program
from agentgate.browser_check.probes.judge import FAILURES, Judgment, ProbeState, judge_chains
from agentgate.browser_check.probes.learning import DriftGuard, Learner
from agentgate.browser_check.probes.pool import AnsweredProgram, Pool, Pools
from agentgate.browser_check.probes.ticket import AskedProgram, ProbeTicket, seal, unseal
from agentgate.browser_check.repository import StoredChallenge
from agentgate.http.address import subnet_of
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.lib.clock import HOUR_MS, MINUTE_MS
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.shared_cache import SharedCache

# A network with this number of sessions without evidence of an engine within an hour gets a higher difficulty.
FAILED = Window("probes-failed-network", 5, HOUR_MS)
# Longer than a challenge lives.
KEPT_MS = 10 * MINUTE_MS
MOST_PROGRAMS_KEPT = 2_048
# Labels of these sources that do not exclude a session from learning. Labels of other sources never do.
PLAIN = frozenset(
    (
        *("browser.evidence", "browser.software_renderer", "behavior.none", "behavior.keyboard_only"),
        *("probes.right", "probes.unproven"),
        *("ua.browser", "ua.old", "ua.webview", "http.plain_origin", "http.via"),
    )
)
ODD_SOURCES = ("browser.", "behavior.", "probes.", "ua.", "http.", "rate.", "cluster.", "model.")
ODD = frozenset(("net.datacenter", "net.tor", "net.vpn", "list.block"))


class DrawnProbes(Struct, frozen=True):
    """The probes of a challenge: the sealed ticket, and the programs as JSON."""

    draw: str
    programs: list[msgspec.Raw]


class ProbeChecker:
    """Probes of all challenges. State about networks is bounded and expires within the hour."""

    def __init__(self, pools: Pools, *, shared_cache: SharedCache, limiter: Limiter) -> None:
        self.pools = pools
        self.learner = Learner()
        self.guard = DriftGuard()
        self.excuses = Excuses()
        # How many verifications were judged in each way.
        self.judged = {state.value: 0 for state in ProbeState}
        self._shared_cache = shared_cache
        self._limiter = limiter
        self._recent = RecentPrograms()
        self._programs: BoundedCache[tuple[str, int], msgspec.Raw] = BoundedCache(MOST_PROGRAMS_KEPT)

    def issue(self, challenge: StoredChallenge, *, user_agent: str | None, address: str) -> DrawnProbes | None:
        """Draw the probes of a challenge; None for a client that claims no engine."""
        claim, now_ms = claim_of(user_agent), challenge.issued_ms
        if claim.engine is None:
            return None
        network = subnet_of(address)
        had = self._recent.had(network, now_ms)
        drawn = draw_programs(
            self._sources(claim, now_ms),
            challenge.seed,
            engine=claim.engine,
            left_out=self.guard.left_out(claim.engine, claim.version),
            had=had,
        )
        # In random order, so that clients cannot distinguish the program that is not judged.
        asked = Dice(challenge.seed, 0, purpose=b"order").shuffled([*drawn, *self._fresh(challenge, claim, had)])
        self._recent.note(network, asked, now_ms)
        ticket = ProbeTicket(
            engine=claim.engine,
            version=claim.version,
            seen=all(one.pool.has_seen(claim.engine, claim.version) for one in drawn),
            asked=tuple(
                AskedProgram(one.known.family, one.known.answer_of(claim.engine), one.pool.key, one.known.number)
                for one in asked
            ),
        )
        programs = [self._program(one) for one in asked]
        chains = [_encoded(chain.program) for chain in draw_chains(challenge.seed)]
        return DrawnProbes(seal(ticket, challenge.seed, challenge.id), programs + chains)

    def issue_again(self, challenge: StoredChallenge, *, user_agent: str | None, address: str) -> DrawnProbes | None:
        """Draw the probes of the interactive challenge, which differ from the challenge's first probes."""
        return self.issue(fresh_of(challenge), user_agent=user_agent, address=address)

    def judge_again(self, challenge: StoredChallenge, given: Any, *, user_agent: str | None) -> Judgment:
        """Judge the results of the interactive challenge's probes. The page is displayed, as its button was pressed."""
        return judge_answers(fresh_of(challenge), given, claim_of(user_agent), is_displayed=True)

    async def has_failed(self, address: str) -> bool:
        """Return whether a network gets a higher difficulty: too many of its sessions gave no evidence of an engine."""
        return await self._limiter.is_over(FAILED, subnet_of(address))

    async def judge(
        self, challenge: StoredChallenge, given: Any, *, user_agent: str | None, address: str, is_displayed: bool
    ) -> Judgment:
        """Judge the results of a verification. If a challenge has several verifications, the first results count."""
        key = f"probes:{challenge.id}"
        if challenge.attempts > 1:
            kept = await self._shared_cache.get(key)
            if kept is not None:
                return msgspec.msgpack.decode(kept, type=Judgment)
        judged = judge_answers(challenge, given, claim_of(user_agent), is_displayed=is_displayed)
        self.judged[judged.state.value] += 1
        if judged.state is ProbeState.RIGHT:
            self.excuses.earn(challenge.issued_ms)
        await self._shared_cache.put(
            key, msgspec.msgpack.encode(msgspec.structs.replace(judged, votes=())), ttl_ms=KEPT_MS
        )
        if judged.state in FAILURES:
            await self._limiter.count(FAILED, subnet_of(address))
        return judged

    def learn(self, judged: Judgment, labels: Iterable[str], *, address: str, now_ms: int) -> None:
        """Learn from a session that shows nothing odd: its votes on fresh programs, and how known ones drift."""
        if any(is_odd(label) for label in labels):
            return
        network = subnet_of(address)
        self.learner.vote(judged, network, now_ms)
        self.guard.note(judged, network, now_ms)

    def _sources(self, claim: BrowserClaim, now_ms: int) -> Sequence[Pool]:
        """Return the pools to draw from: half of the programs are learned ones, where there are enough of them."""
        live, learned = self.pools.live(now_ms), self.learner.pools(claim, now_ms)
        if not self.learner.has_learned(claim, learned):
            return live
        if not all(pool.has_seen(claim.engine, claim.version) for pool in live):
            # No pool has this version; the results were learned from visitors.
            return [pool for pool in learned if pool.has_seen(claim.engine, claim.version)]
        return [*(live[at % len(live)] for at in range(len(learned))), *learned]

    def _fresh(
        self, challenge: StoredChallenge, claim: BrowserClaim, had: Container[tuple[str, int]]
    ) -> list[DrawnProgram]:
        found = self.learner.fresh(claim, challenge.seed, challenge.issued_ms, had)
        if found is None:
            return []
        pool, number = found
        return [DrawnProgram(pool, AnsweredProgram(number, family_of(number), {}))]

    def _program(self, drawn: DrawnProgram) -> msgspec.Raw:
        found = self._programs.get(drawn.key)
        return found or self._programs.put(drawn.key, _encoded(make_program(drawn.pool.seed, drawn.known.number)))


def is_odd(label: str) -> bool:
    """Return whether a session with this label is not learned from."""
    return label in ODD or (label.startswith(ODD_SOURCES) and label not in PLAIN)


def fresh_of(challenge: StoredChallenge) -> StoredChallenge:
    """Return the challenge with the secret from which the interactive challenge's probes are drawn."""
    seed = hashlib.blake2b(challenge.seed, digest_size=len(challenge.seed), person=b"shown probes").digest()
    return msgspec.structs.replace(challenge, seed=seed)


def judge_answers(
    challenge: StoredChallenge, given: Any, claim: BrowserClaim, *, is_displayed: bool = False
) -> Judgment:
    """Judge the results of a page, in whatever shape. Pure.

    A displayed page has a layout, so results from it that report no layout are missing results.
    """
    if given is None or (given.answers == "none" and is_displayed):
        return Judgment(state=ProbeState.MISSING if claim.is_able else ProbeState.UNABLE, no_layout=claim.is_able)
    ticket = unseal(given.draw, challenge.seed, challenge.id)
    if ticket is None:
        # The draw belongs to another challenge: the results are copied.
        return Judgment(state=ProbeState.WRONG, of=0, no_layout=True)
    if isinstance(given.answers, str):
        return Judgment(state=ProbeState(given.answers))
    if len(given.answers) != len(ticket.asked) + CHAINS:
        return Judgment(state=ProbeState.WRONG, of=len(ticket.asked), no_layout=True)
    return judge_chains(ticket, draw_chains(challenge.seed), given.answers, claim)


def _encoded(program: Program) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(program))
