"""Confirmation: whether a person has let a challenged agent go on, at a handoff or by a grant given beforehand."""

from msgspec import UnsetType

from agentgate.lib.enums import Outcome
from agentgate.lib.errors import Refused
from agentgate.protection.agents.handoff.grants import AgentGrants
from agentgate.protection.agents.handoff.handoffs import Handoffs, Redeeming
from agentgate.protection.agents.handoff.records import Handoff, HandoffRequest
from agentgate.protection.agents.submit.judge import Case, Obstacle


class Confirmation:
    """Asks for people's word."""

    def __init__(self, handoffs: Handoffs, grants: AgentGrants) -> None:
        self._handoffs = handoffs
        self._grants = grants

    async def check(self, case: Case, obstacle: Obstacle, request: HandoffRequest) -> Obstacle | None:
        """Return what still stands against a challenged submission; None when a person has confirmed it."""
        handoff_id = case.body.handoff_id
        if isinstance(handoff_id, UnsetType):
            used = await self._grants.use(case.site, case.identity, action=case.body.action, now_ms=case.call.now)
            return obstacle if used is None else None
        result = await self._handoffs.redeem(
            handoff_id,
            case.identity,
            site=case.site,
            request=request,
            action=case.body.action,
            now_ms=case.call.now,
        )
        if result is Redeeming.REDEEMED:
            return None
        if result is Redeeming.UNKNOWN:
            raise Refused("invalid_request", "handoffId names no handoff of this agent for this submission.")
        if result is Redeeming.DECLINED:
            return Obstacle("agent_denied", Outcome.BLOCK, "A person was asked and declined.")
        # It waits, was too late, or was used for something else: a person has to be asked, perhaps once more.
        return obstacle

    async def hand_off(self, case: Case, request: HandoffRequest) -> Handoff:
        """Return the handoff of a challenged submission: the one there is, or a new one."""
        return await self._handoffs.open(
            site=case.site,
            action=case.body.action,
            identity=case.identity,
            request=request,
            now_ms=case.call.now,
        )
