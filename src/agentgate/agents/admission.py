"""Admission: verifies agents that call the service itself. Unverified callers are rejected, in monitor mode too."""

import secrets
from urllib.parse import urlsplit

from agentgate.agents.identity import Identity, SignedMessage
from agentgate.agents.policy_checker import CONTENT_DIGEST
from agentgate.agents.signing.fields import matches
from agentgate.agents.signing.repository import Replays
from agentgate.agents.signing.verify import AgentVerifier
from agentgate.http.call import Call
from agentgate.http.request import Request
from agentgate.lib.enums import AgentVerdict
from agentgate.lib.errors import Refused
from agentgate.lib.limits import SUBMIT_SIGNATURE_WINDOW_S
from agentgate.sites.directory import SiteView

_DEFAULT_PORTS = {"https": ":443", "http": ":80"}


class OwnAddress:
    """The service's own address. Without one in the settings, any host is accepted."""

    def __init__(self, public_base_url: str) -> None:
        parts = urlsplit(public_base_url)
        self._scheme = parts.scheme
        self._authority = _canonical(parts.netloc, parts.scheme)
        self._path = parts.path.rstrip("/")

    def message(self, request: Request) -> SignedMessage | None:
        """Return the request as it was signed; None when it was sent to another host than ours."""
        scheme = self._scheme or ("https" if request.secure else "http")
        authority = _canonical(request.header("host") or "", scheme)
        if not authority or (self._authority and authority != self._authority):
            return None
        joined: dict[bytes, bytes] = {}
        for name, value in request.headers:
            joined[name] = joined[name] + b", " + value if name in joined else value
        query = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
        return SignedMessage(
            method=request.method,
            scheme=scheme,
            authority=authority,
            # A proxy in front of the service strips the path of the service's address.
            target=self._path + request.path + query,
            headers=joined,
        )


def _canonical(authority: str, scheme: str) -> str:
    return authority.lower().removesuffix(_DEFAULT_PORTS.get(scheme, ":"))


_ACCEPTED = (
    'sig1=("@method" "@authority" "@path" "content-digest" "signature-agent";key="sig1")'
    ';created;expires;nonce="{}";tag="web-bot-auth"'
)


def asking_headers() -> dict[str, str]:
    """Return the headers of a 401: the scheme, and a signature to be made, with a nonce that is free (RFC 9421 5.1)."""
    accepted = _ACCEPTED.format(secrets.token_urlsafe(32))
    return {"www-authenticate": 'Signature realm="agents"', "accept-signature": accepted}


class Admission:
    """Verifies the signature of a submission, that it covers the body, and that it is new."""

    def __init__(self, verifier: AgentVerifier, replays: Replays, address: OwnAddress) -> None:
        self._verifier = verifier
        self.replays = replays
        self._address = address

    def message_of(self, call: Call) -> SignedMessage:
        message = self._address.message(call.request)
        if message is None:
            raise _invalid("The request was sent to a host that is not AgentGate's own.")
        return message

    async def identify_caller(self, call: Call, site: SiteView) -> Identity | None:
        """Return the identity that a call's signature proves; None for a request to another host than ours."""
        message = self._address.message(call.request)
        return None if message is None else await self.identify(message, site, now_ms=call.now)

    async def identify(self, message: SignedMessage, site: SiteView, *, now_ms: int) -> Identity:
        """Return the identity that the signature proves, verified or not."""
        found = self._verifier.verify(
            message, policy=site.agent_policy, now_ms=now_ms, longest_s=SUBMIT_SIGNATURE_WINDOW_S
        )
        return found if isinstance(found, Identity) else await found

    async def find_problem(self, identity: Identity, message: SignedMessage, content: bytes) -> Refused | None:
        """Return the error for a submission whose sender, body or freshness is not proven; None if all are.

        The last step stores the signature: it is never accepted again.
        """
        if identity.verdict is AgentVerdict.INVALID:
            return _invalid(identity.why)
        if identity.verdict is not AgentVerdict.VERIFIED or identity.agent is None:
            return Refused("agent_unverified", identity.why, headers=asking_headers())
        if CONTENT_DIGEST not in identity.covered:
            return _invalid("The signature must cover Content-Digest.")
        if not matches(message.headers.get(CONTENT_DIGEST.encode(), b""), content):
            return _invalid("Content-Digest does not match the body.")
        if not await self.replays.is_new(identity, unsafe=True):
            return _invalid("This signature was used before. Sign every request separately, with a new nonce.")
        return None


def _invalid(why: str | None) -> Refused:
    return Refused("agent_signature_invalid", _sentence(why), headers=asking_headers())


def _sentence(why: str | None) -> str | None:
    if not why:
        return None
    return why[0].upper() + why[1:] + ("" if why.endswith(".") else ".")
