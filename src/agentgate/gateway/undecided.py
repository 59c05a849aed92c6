"""Responses to checks without a decision: wrong secret, malformed description, overload, and errors."""

from msgspec.structs import replace

from agentgate.decision.engine import Ruling
from agentgate.gateway.answers import Answers
from agentgate.gateway.denials import denial_of, json_response
from agentgate.gateway.request.described_request import DENIAL, CheckForm
from agentgate.gateway.request.fleet_requests import UnknownHost
from agentgate.gateway.request.original_request import Malformed
from agentgate.gateway.ruling import refuse, unavailable
from agentgate.http.connection.fast_functions import HotReply
from agentgate.lib.enums import Mode, Outcome
from agentgate.sites.directory import SiteView

_NOTHING_KNOWN = Ruling(Outcome.BLOCK, "service_unavailable")
_NO_CREDENTIAL = Ruling(Outcome.BLOCK, "invalid_credential")


class UndecidedAnswers:
    """Writes these responses in the form that the check asks for."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def of_unknown_caller(self, form: CheckForm, *, is_stale: bool) -> HotReply:
        """Respond to a caller whose secret is wrong. A proxy that can be open takes a 5xx for unavailable."""
        # With stale sites, the secret may be newer than they are.
        reply = self._answers.write(_NOTHING_KNOWN if is_stale else _NO_CREDENTIAL, None)
        return replace(reply, status=503) if form.respond else reply

    def of_unseen(self, form: CheckForm, site: SiteView) -> HotReply:
        """Respond to a request that was not judged: enforce mode fails closed, monitor mode allows."""
        return self._answers.write(unavailable(site), None, ok=_ok(form))

    def of_failed(self, form: CheckForm, site: SiteView) -> HotReply:
        """Respond to a request that could not be judged. A visitor may cause it, so it is a denial and not a fault."""
        ruling = unavailable(site)
        if not form.respond or ruling.outcome is Outcome.ALLOW:
            return self.of_unseen(form, site)
        return self._deny(form, ruling)

    def of_malformed(self, form: CheckForm, site: SiteView, problem: Malformed) -> HotReply:
        """Respond to a request whose description is malformed."""
        ruling = Ruling(Outcome.BLOCK, "invalid_request", hint=str(problem))
        if not form.respond:
            return self._answers.write(ruling, None)
        if site.mode is Mode.MONITOR:
            # A visitor can cause it, and monitor mode allows every visitor.
            ruling = replace(refuse(site, Outcome.BLOCK, "invalid_request"), hint=str(problem))
            return self._answers.write(ruling, None, ok=_ok(form))
        return self._deny(form, ruling)

    def of_unknown_host(self, form: CheckForm, problem: UnknownHost) -> HotReply:
        """Respond to a proxy of a fleet for a host that no site has, as the fleet's credential is configured."""
        if problem.is_allowed:
            return self._answers.write(Ruling(Outcome.ALLOW, "allowed", hint=str(problem)), None, ok=_ok(form))
        ruling = Ruling(Outcome.BLOCK, "invalid_request", hint=str(problem))
        return self._deny(form, ruling) if form.respond else self._answers.write(ruling, None)

    def _deny(self, form: CheckForm, ruling: Ruling) -> HotReply:
        if form.respond == DENIAL:
            return self._answers.deny(ruling, None, b"block")
        reply = json_response(denial_of(ruling, "", None))
        return replace(reply, status=429) if reply.status >= 500 else reply


def _ok(form: CheckForm) -> bytes:
    return b"ok=200" if form.is_ok_200 else b""
