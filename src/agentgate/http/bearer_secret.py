"""The one reader of secrets in headers: `Authorization: Bearer`, or a separate header for a site's server.

The site server's header precedes `Authorization`, which may be the visitor's. Secrets are not verified here.
"""

from collections.abc import Mapping

from agentgate.http.request import Request

BEARER = b"bearer"
SECRET_HEADER = b"x-agentgate-secret"


def shown_secret(headers: Mapping[bytes, bytes]) -> bytes | None:
    """Return the secret in the headers; None without one."""
    secret = headers.get(SECRET_HEADER)
    if secret is not None:
        return secret
    authorization = headers.get(b"authorization")
    return None if authorization is None else bearer_secret(authorization)


def bearer_secret(authorization: bytes) -> bytes | None:
    """Return the secret behind `Bearer` and one space, empty for `Bearer` alone; None for another kind of header."""
    if authorization.startswith(b"Bearer "):
        return authorization[7:]
    scheme, _, secret = authorization.partition(b" ")
    return secret if scheme.lower() == BEARER else None


def bearer_secret_of(request: Request) -> str | None:
    """Return the secret of a request's `Authorization: Bearer`, possibly empty; None without such a header."""
    authorization = request.header("authorization")
    secret = None if authorization is None else bearer_secret(authorization.encode("latin-1"))
    return None if secret is None else secret.decode("latin-1")
