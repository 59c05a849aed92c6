"""Verification of a page's results: one attempt, one verdict, at most one token."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from agentgate.browser_check.admission import VERIFICATIONS, AdmittedPage, CheckAdmission
from agentgate.browser_check.instrument.program import InstrumentAnswer, check_answer
from agentgate.browser_check.issue import CHALLENGE_ID
from agentgate.browser_check.judge import Proof, judge
from agentgate.browser_check.records import VerifyInput, VerifyResult, Work
from agentgate.browser_check.repository import ChallengeStore, StoredChallenge
from agentgate.browser_check.scrutiny import Scrutiny
from agentgate.browser_check.step_up import is_by_device, is_right, pointer_traits, step_up_of, work_of
from agentgate.browser_check.testing_sites import ALWAYS_FAIL
from agentgate.browser_check.trial import BrowserCheckEventLog, CheckTokens, Trial, request_facts
from agentgate.browser_check.work import WorkLevel, challenge_work, is_solved
from agentgate.decision.decider import Decider
from agentgate.decision.signals.assistants import CHALLENGED
from agentgate.http.call import Call
from agentgate.lib import limits
from agentgate.lib.enums import Outcome, VerifyStatus
from agentgate.lib.errors import Refused
from agentgate.lib.tasks.turns import KeyedLocks

# A proof checks 4 to 20 puzzles of a millisecond each: too long for the event loop.
MOST_RUNNING = 2
# About half a second of waiting.
MOST_WAITING = 128


class Prover:
    """Runs proofs: quick ones directly, others in a thread."""

    def __init__(self) -> None:
        self._running = asyncio.Semaphore(MOST_RUNNING)
        self._waiting = 0

    async def run(self, prove: Callable[[], Proof], *, needs_memory: bool) -> Proof:
        """Return the result of a proof; reject the call while too many are queued."""
        if not needs_memory:
            return prove()
        if self._waiting >= MOST_WAITING:
            raise Refused("unavailable", headers={"retry-after": "5"})
        self._waiting += 1
        try:
            async with self._running:
                return await asyncio.to_thread(prove)
        finally:
            self._waiting -= 1


class ChallengeVerifier:
    """Judges verifications and gives tokens to those that pass."""

    def __init__(
        self,
        store: ChallengeStore,
        *,
        admission: CheckAdmission,
        decider: Decider,
        event_log: BrowserCheckEventLog,
        grants: CheckTokens,
        scrutiny: Scrutiny,
    ) -> None:
        self._store = store
        self._admission = admission
        self._decider = decider
        self._event_log = event_log
        self._grants = grants
        self._scrutiny = scrutiny
        # Verifications of one challenge run one after the other: a call during the making of a token learns that the
        # challenge was used, not that its attempts are used up. The store ensures that there is one token only.
        self._locks = KeyedLocks()
        self._prover = Prover()

    async def verify(self, call: Call, body: VerifyInput) -> VerifyResult:
        """Use up an attempt and return a token or a step-up; reject a verification that does not pass."""
        call = await self._admission.see(call, body.site_key)
        page = await self._admission.admit(call, body.site_key, body.action, VERIFICATIONS)
        if not CHALLENGE_ID.match(body.challenge_id):
            raise Refused("challenge_invalid")
        async with self._locks.of(body.challenge_id):
            challenge = await self._attempt(call, page, body.challenge_id)
            if isinstance(body.c_data, str):
                challenge = msgspec.structs.replace(challenge, c_data=body.c_data)
            needs_memory = challenge.level != WorkLevel.USUAL
            proof = await self._prover.run(
                # With test keys, sites test their own pages by programs.
                partial(prove, challenge, body, now_ms=call.now, by_hand=not page.test, has_raster=_has_raster(call)),
                needs_memory=needs_memory or challenge.stepped_ms is not None,
            )
            findings = await self._scrutiny.inspect(call, page, challenge, body, proof)
            if proof.answer and not findings.answer_holds:
                proof = msgspec.structs.replace(proof, answer=False)
            trial = self._try(call, page, challenge, proof, findings.evidence)
            if trial.verdict is Outcome.ALLOW and not page.test:
                is_silent = await self._scrutiny.may_be_silent(call, page)
                if not is_silent and not proof.answer:
                    trial = msgspec.structs.replace(trial, verdict=self._shown_or_failed(challenge))
            self._scrutiny.learn(call, findings, trial.decision.labels)
            if trial.applied is Outcome.CHALLENGE:
                return await self._step_up(trial)
            if trial.applied is Outcome.BLOCK:
                if trial.answered is False:
                    await self._store.note_wrong_answer(challenge.id, call.now)
                raise self._failed(trial)
            return await self._passed(trial)

    async def _attempt(self, call: Call, page: AdmittedPage, challenge_id: str) -> StoredChallenge:
        mine = page.binding
        challenge = await self._store.take_attempt(
            challenge_id, mine, most=limits.VERIFY_ATTEMPTS_PER_CHALLENGE, now_ms=call.now
        )
        if challenge is not None:
            return challenge
        # No attempt was taken. The stored challenge tells why.
        found = await self._store.find_challenge(challenge_id)
        if found is None or msgspec.structs.replace(found.binding, origin=mine.origin) != mine:
            raise Refused("challenge_invalid")
        if found.binding.origin != mine.origin:
            raise Refused("origin_denied", "The challenge was issued to another origin. Request a new one.")
        if found.used:
            raise Refused("challenge_used")
        if call.now >= found.expires_ms:
            raise Refused("challenge_expired")
        raise Refused("too_many_attempts")

    def _try(
        self, call: Call, page: AdmittedPage, challenge: StoredChallenge, proof: Proof, evidence: Mapping[str, Any]
    ) -> Trial:
        # The page load was counted when the challenge was issued.
        rates = self._decider.rates(page.site, page.visitor, call.request.address, call.now)
        facts = request_facts(call, page, rates, evidence)
        decision = self._decider.decide(facts, page.site)
        verdict = judge(proof, decision.verdict.outcome, () if page.test else decision.labels)
        if page.site.site_key == ALWAYS_FAIL:
            verdict = Outcome.BLOCK
        elif verdict is Outcome.CHALLENGE:
            verdict = self._shown_or_failed(challenge)
        return Trial(
            call=call,
            page=page,
            challenge=challenge,
            facts=facts,
            decision=decision,
            verdict=verdict,
            answered=proof.answer,
        )

    def _shown_or_failed(self, challenge: StoredChallenge) -> Outcome:
        """Return the verdict that requires an interactive challenge, or failure if no attempt is left for it."""
        has_more_attempts = challenge.attempts < limits.VERIFY_ATTEMPTS_PER_CHALLENGE
        return Outcome.CHALLENGE if has_more_attempts else Outcome.BLOCK

    async def _step_up(self, trial: Trial) -> VerifyResult:
        challenge = trial.challenge
        draw = await self._scrutiny.ask(trial)
        if challenge.stepped_ms is None:
            await self._store.note_step_up(challenge.id, trial.call.now)
        step_up = step_up_of(challenge, draw, is_assistant=CHALLENGED in trial.decision.labels)
        return VerifyResult(status=VerifyStatus.STEP_UP, step_up=step_up, attempts_left=trial.attempts_left)

    def _failed(self, trial: Trial) -> Refused:
        return Refused("challenge_failed", decisionId=self._event_log.concluded(trial))

    async def _passed(self, trial: Trial) -> VerifyResult:
        if not await self._store.use_challenge(trial.challenge.id):
            raise Refused("challenge_used")
        return self._grants.give(trial, self._event_log.concluded(trial))


def prove(
    challenge: StoredChallenge, body: VerifyInput, *, now_ms: int, by_hand: bool = True, has_raster: bool = False
) -> Proof:
    """Check work, program and response. Reject a body that cannot belong to this challenge."""
    work = challenge_work(challenge.seed, WorkLevel(challenge.level))
    _check_length("work", work, body.work)
    worker = body.instrument.worker
    program = InstrumentAnswer(page=body.instrument.page, worker=worker if isinstance(worker, str) else None)
    asked = challenge.stepped_ms is not None
    answer = body.answer if asked else msgspec.UNSET
    if not isinstance(answer, msgspec.UnsetType):
        _check_length("answer.work", work_of(challenge), answer.work)
    steps = [] if isinstance(answer, msgspec.UnsetType) else answer.steps
    interaction = body.interaction if isinstance(body.interaction, dict) else {}
    sums = interaction if by_hand else None
    instrument = check_answer(challenge.seed, challenge.id, program)
    return Proof(
        # The most expensive proof last: without the program's right result the work is not verified.
        work=instrument and is_solved(work, body.work, challenge.seed, attempt=challenge.attempts),
        instrument=instrument,
        asked=asked,
        answer=None if isinstance(answer, msgspec.UnsetType) else is_right(answer, challenge, now_ms, sums),
        traits=pointer_traits(steps),
        assistive=bool(steps) and all(step.input == "assistive" for step in steps),
        by_device=is_by_device(steps, has_raster=has_raster),
    )


def _has_raster(call: Call) -> bool:
    """Return whether the visitor's system times input in whole milliseconds, as X11 does."""
    agent = call.request.header("user-agent") or ""
    return "Linux" in agent and "Android" not in agent


def _check_length(place: str, work: Work, solutions: Sequence[int]) -> None:
    if len(solutions) != work.count:
        raise Refused("bad_request", f"{place} must have {work.count} numbers, one per puzzle.")
