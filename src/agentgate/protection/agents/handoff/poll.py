"""Polling: an agent asks what became of its handoff. Everybody else is told that there is none."""

from agentgate.http.address import source_of
from agentgate.http.call import Call
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.enums import AgentVerdict
from agentgate.lib.errors import Refused
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.limits import HANDOFF_POLLS_PER_MINUTE_PER_ADDRESS, SUBMIT_SIGNATURE_WINDOW_S
from agentgate.protection.agents.handoff.handoffs import Handoffs, is_of
from agentgate.protection.agents.handoff.records import HandoffAnswer
from agentgate.protection.agents.identity import Identity
from agentgate.protection.agents.signing.own_message import OwnAddress
from agentgate.protection.agents.signing.replays import Replays
from agentgate.protection.agents.signing.verify import AgentVerifier
from agentgate.protection.sites.directory import SiteDirectory, SiteView

POLLS = Window("handoff-poll-address", HANDOFF_POLLS_PER_MINUTE_PER_ADDRESS, MINUTE_MS)


class HandoffPolling:
    """Answers polls of the agent that received a handoff."""

    def __init__(
        self,
        handoffs: Handoffs,
        sites: SiteDirectory,
        *,
        verifier: AgentVerifier,
        replays: Replays,
        address: OwnAddress,
        limiter: Limiter,
    ) -> None:
        self._handoffs = handoffs
        self._sites = sites
        self._verifier = verifier
        self._replays = replays
        self._address = address
        self._limiter = limiter

    async def answer(self, call: Call, handoff_id: str) -> HandoffAnswer:
        """Return what the agent is told; refuse everybody else as if the handoff did not exist."""
        if not await self._limiter.count(POLLS, source_of(call.request.address)):
            raise Refused("rate_limited")
        handoff = await self._handoffs.find(handoff_id)
        site = None if handoff is None else self._sites.find_by_number(handoff.site)
        if handoff is None or site is None or site.disabled:
            raise Refused("not_found")
        identity = await self._identify(call, site)
        if identity is None or not is_of(handoff, identity, site):
            raise Refused("not_found")
        # Last, so that nobody's guess is written down. A poll that was copied on its way is nobody's.
        if not await self._replays.is_new(identity, unsafe=False):
            raise Refused("not_found")
        return await self._handoffs.answer(handoff, site, now_ms=call.now)

    async def _identify(self, call: Call, site: SiteView) -> Identity | None:
        message = self._address.message(call.request)
        if message is None:
            return None
        found = self._verifier.verify(
            message, policy=site.agent_policy, now_ms=call.now, longest_s=SUBMIT_SIGNATURE_WINDOW_S
        )
        identity = found if isinstance(found, Identity) else await found
        return identity if identity.verdict is AgentVerdict.VERIFIED else None
