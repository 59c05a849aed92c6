"""The one reader of secrets in headers: `Authorization: Bearer`, or for a site's server a header of its own.

The header of its own goes before `Authorization`, which may be the visitor's. Whose secret it is is not found out here.
"""

from collections.abc import Mapping

from agentgate.http.request import Request

BEARER = b"bearer"
SECRET_HEADER = b"x-agentgate-secret"


def shown_secret(headers: Mapping[bytes, bytes]) -> bytes | None:
    """Return the secret that headers show; None when they show none."""
    secret = headers.get(SECRET_HEADER)
    if secret is not None:
        return secret
    authorization = headers.get(b"authorization")
    return None if authorization is None else bearer_secret(authorization)


def bearer_secret(authorization: bytes) -> bytes | None:
    """Return the secret behind `Bearer` and one space, empty for `Bearer` alone; None for another kind of header."""
    scheme, _, secret = authorization.partition(b" ")
    return secret if scheme.lower() == BEARER else None


def bearer_secret_of(request: Request) -> str | None:
    """Return what a request's `Authorization: Bearer` carries, maybe nothing; None when it has no such header."""
    authorization = request.header("authorization")
    secret = None if authorization is None else bearer_secret(authorization.encode("latin-1"))
    return None if secret is None else secret.decode("latin-1")
