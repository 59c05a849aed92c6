"""Issuing challenges, and the program that goes with each."""

import re
import secrets

import msgspec
from msgspec import UNSET

from agentgate.browser_check.admission import CHALLENGES, AdmittedPage, CheckAdmission, is_from
from agentgate.browser_check.instrument.program import make_function, make_program
from agentgate.browser_check.probes.checker import DrawnProbes
from agentgate.browser_check.records import SCHEMA, Challenge, ChallengeInput, PrivateTokenResult, Probes
from agentgate.browser_check.repository import ChallengeStore, StoredChallenge
from agentgate.browser_check.scrutiny import Scrutiny
from agentgate.browser_check.step_up import step_up_of
from agentgate.browser_check.trial import BrowserCheckEventLog, request_facts
from agentgate.browser_check.work import WorkLevel, challenge_work
from agentgate.decision.decider import Decider
from agentgate.decision.engine import EngineDecision
from agentgate.http.call import Call
from agentgate.lib import limits
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.enums import Mode, Outcome, WidgetMode
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_challenge_id
from agentgate.lib.moment import Moment
from agentgate.lib.records import to_json
from agentgate.sites.directory import SiteView
from agentgate.sites.token_issuers.directories import trusts_issuers

SEED_BYTES = 16
LIFETIME_MS = limits.CHALLENGE_LIFETIME_MINUTES * MINUTE_MS
CHALLENGE_ID = re.compile(r"ch_[0-7][0-9a-hjkmnp-tv-z]{25}\Z", re.ASCII)

LEVEL_OF = {
    Outcome.ALLOW: WorkLevel.USUAL,
    Outcome.CHALLENGE: WorkLevel.RAISED,
    Outcome.BLOCK: WorkLevel.HIGH,
    Outcome.DROP: WorkLevel.HIGH,
}
# A program's rate within a minute. The throttle applies in monitor mode too.
FLOODS = frozenset(("rate.visitor.high", "rate.network.extreme"))


class ChallengeIssuer:
    def __init__(
        self,
        store: ChallengeStore,
        *,
        admission: CheckAdmission,
        decider: Decider,
        event_log: BrowserCheckEventLog,
        scrutiny: Scrutiny,
    ) -> None:
        self._store = store
        self._admission = admission
        self._decider = decider
        self._event_log = event_log
        self._scrutiny = scrutiny

    async def issue(self, call: Call, body: ChallengeInput) -> Challenge:
        """Return a new challenge for a page that may run the check."""
        return self._shown(*await self._issue(call, body))

    async def issue_script(self, call: Call, body: ChallengeInput, hook: int) -> str:
        """Return a new challenge and its program in one script, which saves the page a round trip."""
        challenge, draw = await self._issue(call, body)
        shown = to_json(self._shown(challenge, draw)).decode()
        return f'globalThis["agentgate:{hook}"]([{shown},{make_function(challenge.seed, challenge.id)}]);\n'

    def _shown(self, challenge: StoredChallenge, draw: DrawnProbes | None) -> Challenge:
        return wire_challenge(challenge, self._admission.find_site(challenge.binding.site), draw)

    async def _issue(self, call: Call, body: ChallengeInput) -> tuple[StoredChallenge, DrawnProbes | None]:
        call = await self._admission.see(call, body.site_key)
        page = await self._admission.admit(call, body.site_key, body.action, CHALLENGES)
        rates = self._decider.count(page.site, page.visitor, call.request.address, call.now)
        facts = request_facts(call, page, rates)
        decision = self._decider.decide(facts, page.site)
        widget = widget_of(page, body)
        challenge = StoredChallenge(
            id=new_challenge_id(),
            **msgspec.structs.asdict(page.binding),
            seed=new_seed(),
            level=WorkLevel.HIGH if await self._admission.is_flood(call) else await self._level(call, page, decision),
            widget=widget,
            c_data=body.c_data if isinstance(body.c_data, str) else None,
            issued_ms=int(call.now),
            expires_ms=call.now + LIFETIME_MS,
            stepped_ms=int(call.now) if widget is WidgetMode.INTERACTIVE else None,
        )
        await self._store.add_challenge(challenge)
        self._event_log.issued(call, page, facts, decision)
        draw = self._scrutiny.probes.issue(
            challenge, user_agent=call.request.header("user-agent"), address=call.request.address
        )
        return challenge, draw

    async def _level(self, call: Call, page: AdmittedPage, decision: EngineDecision) -> WorkLevel:
        level = level_of(decision)
        if page.test or page.site.mode is Mode.MONITOR:
            return level
        return max(level, await self._scrutiny.level(call, page))

    async def program(self, call: Call, challenge_id: str) -> tuple[str, int]:
        """Return the program of a challenge and for how many seconds it may be cached."""
        call, challenge, _ = await self._find(call, challenge_id)
        return make_program(challenge.seed, challenge.id), (challenge.expires_ms - call.now) // 1000

    async def redeem_private_token(self, call: Call, challenge_id: str) -> PrivateTokenResult:
        call, challenge, site = await self._find(call, challenge_id)
        return await self._scrutiny.private_tokens.redeem(call, challenge, site)

    async def _find(self, call: Call, challenge_id: str) -> tuple[Call, StoredChallenge, SiteView]:
        """Return the caller's challenge; reject another visitor's, or an expired one."""
        await self._admission.admit_program(call)
        challenge = await self._store.find_challenge(challenge_id) if CHALLENGE_ID.match(challenge_id) else None
        site = self._admission.find_site(challenge.binding.site) if challenge is not None else None
        if challenge is None or site is None:
            raise Refused("challenge_invalid")
        call = await self._admission.see(call, site.site_key)
        if not is_from(call.request, challenge.binding.origin):
            raise self._admission.denied(site, call)
        if challenge.binding.visitor != self._admission.visitor_of(site, call):
            raise Refused("challenge_invalid")
        if call.now >= challenge.expires_ms:
            raise Refused("challenge_expired")
        return call, challenge, site


def new_seed() -> bytes:
    """Return the random seed of a challenge's puzzles and program."""
    return secrets.token_bytes(SEED_BYTES)


def widget_of(page: AdmittedPage, body: ChallengeInput) -> WidgetMode:
    """Return the widget mode. A page may ask for a stricter mode than its site, not for a weaker one."""
    if page.site.widget_mode is WidgetMode.INTERACTIVE or not isinstance(body.widget, WidgetMode):
        return page.site.widget_mode
    return body.widget


def level_of(decision: EngineDecision) -> WorkLevel:
    if not FLOODS.isdisjoint(decision.labels):
        return WorkLevel.HIGH
    return LEVEL_OF[decision.outcome]


def wire_challenge(challenge: StoredChallenge, site: SiteView | None, draw: DrawnProbes | None = None) -> Challenge:
    """Return a challenge as the page gets it."""
    show = challenge.stepped_ms is not None
    return Challenge(
        challenge_id=challenge.id,
        schema=SCHEMA,
        expires_at=Moment(challenge.expires_ms),
        attempts=limits.VERIFY_ATTEMPTS_PER_CHALLENGE,
        widget=challenge.widget,
        show=show,
        work=challenge_work(challenge.seed, WorkLevel(challenge.level)),
        instrument=f"/v1/browser/instrument?challengeId={challenge.id}",
        probes=UNSET if draw is None else Probes(draw=draw.draw, programs=draw.programs),
        step_up=step_up_of(challenge) if show else UNSET,
        private_token=f"/v1/browser/private-token?challengeId={challenge.id}"
        if site is not None and trusts_issuers(site)
        else UNSET,
    )
