"""Explains the signatures of a request to the developer of an agent. It names no site and no policy."""

from msgspec import UNSET, UnsetType

from agentgate.agents.admission import OwnAddress
from agentgate.agents.identity import Identity, SignedMessage
from agentgate.agents.signing.directories import KeyDirectories
from agentgate.agents.signing.fields import Unreadable
from agentgate.agents.signing.signatures import Signature, agent_address, tagged_signatures
from agentgate.agents.signing.verify import AgentVerifier
from agentgate.http.address import source_of
from agentgate.http.call import Call
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.enums import AgentVerdict
from agentgate.lib.errors import Refused
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.limits import GATEWAY_SIGNATURE_WINDOW_HOURS
from agentgate.lib.records import Record
from agentgate.sites.agent_policy import DEFAULT_POLICY

PER_SOURCE = Window("agent-check", 60, MINUTE_MS)
LONGEST_S = GATEWAY_SIGNATURE_WINDOW_HOURS * 3600


class CheckedSignature(Record, frozen=True, kw_only=True):
    """One signature. `base` is the signature base that AgentGate computed (RFC 9421 2.5).

    `keys` are the thumbprints of the key set at `keySet`; absent if the set was not read.
    """

    label: str
    covered: list[str]
    agent: str | UnsetType = UNSET
    key_set: str | UnsetType = UNSET
    keys: list[str] | UnsetType = UNSET
    base: str | UnsetType = UNSET
    problem: str | UnsetType = UNSET


class AgentCheckResult(Record, frozen=True, kw_only=True):
    """The verdict on this very request, with its reason."""

    verdict: AgentVerdict
    reason: str | UnsetType = UNSET
    agent: str | UnsetType = UNSET
    key_id: str | UnsetType = UNSET
    signatures: list[CheckedSignature]


class SignatureExplainer:
    """Verifies the signatures of calls to the service itself, and explains the result."""

    def __init__(
        self, verifier: AgentVerifier, directories: KeyDirectories, address: OwnAddress, limiter: Limiter
    ) -> None:
        self._verifier = verifier
        self._directories = directories
        self._address = address
        self._limiter = limiter

    async def explain(self, call: Call) -> AgentCheckResult:
        """Return the verdict on a call, within the caller's rate."""
        await self._limiter.require(PER_SOURCE, source_of(call.request.address))
        message = self._address.message(call.request)
        if message is None:
            raise Refused("invalid_request", "The request was sent to a host that is not AgentGate's own.")
        found = self._verifier.verify(message, policy=DEFAULT_POLICY, now_ms=call.now, longest_s=LONGEST_S)
        identity = found if isinstance(found, Identity) else await found
        try:
            signatures = [self._explained(each, message) for each in tagged_signatures(message.headers)]
        except Unreadable:
            # The verdict has the reason.
            signatures = []
        return AgentCheckResult(
            verdict=identity.verdict,
            reason=_sentence(identity),
            agent=UNSET if identity.agent is None else identity.agent,
            key_id=UNSET if identity.keyid is None else identity.keyid,
            signatures=signatures,
        )

    def _explained(self, signature: Signature, message: SignedMessage) -> CheckedSignature:
        covered = [component.identifier for component in signature.input.coverage.components]
        try:
            address = agent_address(message.headers, signature.label, signature.input)
            base = signature.text(message).decode("ascii")
        except Unreadable as problem:
            return CheckedSignature(label=signature.label, covered=covered, problem=str(problem))
        keys = None if address is None else self._directories.listed(address.key_url)
        return CheckedSignature(
            label=signature.label,
            covered=covered,
            agent=UNSET if address is None else address.agent,
            key_set=UNSET if address is None else address.key_url,
            keys=UNSET if keys is None else keys,
            base=base,
        )


def _sentence(identity: Identity) -> str | UnsetType:
    if identity.verdict is AgentVerdict.UNSIGNED:
        return 'No signature has the tag "web-bot-auth".'
    why = identity.why
    return UNSET if why is None else why[0].upper() + why[1:].rstrip(".") + "."
