"""Siteverify: from the request's secret and body to the redeemer's terms."""

import functools

from msgspec import UNSET, UnsetType

from agentgate.http.address import canonical_address
from agentgate.http.bearer_secret import bearer_secret
from agentgate.lib.errors import Refused
from agentgate.lib.secrets import same
from agentgate.protection.sites.validate import canonical_origin
from agentgate.protection.tokens.records import SiteverifyInput
from agentgate.protection.tokens.redeem import Demand, Redeemer


async def verify(redeemer: Redeemer, body: SiteverifyInput, *, authorization: str | None, now_ms: int) -> bytes:
    """Redeem a token and return the answer's bytes, or refuse."""
    demand = read_demand(body)
    secret = read_secret(authorization, body.secret)
    caller = await redeemer.authenticate(secret, now_ms=now_ms)
    return await redeemer.redeem(caller, demand, now_ms=now_ms)


def read_secret(authorization: str | None, field: str | UnsetType) -> str:
    """Return the secret of a call: from the header, from the body, or from both if they agree."""
    given = [field] if isinstance(field, str) else []
    if authorization is not None:
        shown = bearer_secret(authorization.encode("latin-1"))
        if not shown:
            raise Refused("invalid_credential", "Authorization must be `Bearer` and the secret.")
        given.append(shown.decode("latin-1"))
    if not given:
        raise Refused("invalid_credential")
    if len(given) > 1 and not same(
        given[0].encode("utf-8", "surrogatepass"), given[-1].encode("utf-8", "surrogatepass")
    ):
        raise Refused("invalid_credential", "The secrets in Authorization and in the body differ; send one of them.")
    return given[0]


def read_demand(body: SiteverifyInput) -> Demand:
    """Return what the token must have been issued for."""
    return Demand(
        token=body.token,
        action=body.expected_action,
        origin=None if body.expected_origin is UNSET else _origin(body.expected_origin),
        request_id=None if body.request_id is UNSET else body.request_id,
        content_digest=None if body.content_digest is UNSET else body.content_digest,
        remote_address=None if body.remote_address is UNSET else _address(body.remote_address),
    )


def _address(text: str) -> str:
    address = canonical_address(text)
    if address is None:
        raise Refused(
            "invalid_request",
            "remoteAddress must be the visitor's IP address alone, such as 203.0.113.9.",
        )
    return address


# A site's server names the same one or two origins in every call.
@functools.lru_cache(maxsize=1024)
def _origin(text: str) -> str:
    try:
        return canonical_origin(text)
    except Refused:
        raise Refused(
            "invalid_request", "expectedOrigin must be scheme://host[:port], such as https://www.example.com."
        ) from None
