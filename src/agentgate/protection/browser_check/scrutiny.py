"""Scrutiny: what a look at the body alone does not tell of a check, from the probes and from what others did."""

from typing import Any

import msgspec
from msgspec import Struct

from agentgate.http.call import Call
from agentgate.protection.browser_check.admission import Visit
from agentgate.protection.browser_check.crowd import Crowd
from agentgate.protection.browser_check.judge import Proof
from agentgate.protection.browser_check.ports import StoredChallenge
from agentgate.protection.browser_check.probes.desk import ProbeDesk
from agentgate.protection.browser_check.probes.judge import Judgement
from agentgate.protection.browser_check.records import VerifyInput
from agentgate.protection.browser_check.work import Level


class Findings(Struct, frozen=True):
    """What was found: the evidence as signals read it, and how the probes were answered."""

    evidence: dict[str, Any]
    probes: Judgement


class Scrutiny:
    """Raises work where others like this one failed, and collects the evidence of a verification."""

    def __init__(self, probes: ProbeDesk, crowd: Crowd) -> None:
        self.probes = probes
        self.private_tokens = crowd.private_tokens
        self._crowd = crowd

    async def level(self, call: Call, visit: Visit) -> Level:
        """Return the least work that network and cluster get."""
        failed = await self.probes.has_failed(call.request.address)
        return max(Level.RAISED if failed else Level.USUAL, await self._crowd.level(call.request, visit.site.number))

    async def look(
        self, call: Call, visit: Visit, challenge: StoredChallenge, body: VerifyInput, proof: Proof
    ) -> Findings:
        """Return what the page sent and what was made of it; with test keys nothing is counted."""
        request = call.request
        given = None if isinstance(body.probes, msgspec.UnsetType) else body.probes
        judgement = await self.probes.judge(
            challenge, given, user_agent=request.header("user-agent"), address=request.address
        )
        evidence: dict[str, Any] = {
            "signals": body.signals,
            "instrument": "passed" if proof.instrument else "failed",
            "probes": judgement.evidence,
        }
        if isinstance(body.interaction, dict):
            evidence["interaction"] = body.interaction
        if not visit.test:
            if not (proof.work and proof.instrument):
                await self._crowd.failures.record(request.address)
            clusters = await self._crowd.clusters.observe(
                visit.site.number, request, body.signals, body.interaction, call.now
            )
            evidence["clusters"] = clusters + await self.private_tokens.labels(challenge, visit.site)
        return Findings(evidence, judgement)

    def learn(self, call: Call, findings: Findings, labels: tuple[str, ...]) -> None:
        """Let the probes learn from a session about which this was decided."""
        self.probes.learn(findings.probes, labels, address=call.request.address, now_ms=call.now)
