"""How a site's server shows its secret: `Authorization: Bearer`, or a header of its own.

The header of its own goes before `Authorization`, which may be the visitor's. Whose secret it is is not found out here.
"""

from collections.abc import Mapping

BEARER = b"bearer "
SECRET_HEADER = b"x-agentgate-secret"


def shown_secret(headers: Mapping[bytes, bytes]) -> bytes | None:
    """Return the secret that headers show; None when they show none."""
    secret = headers.get(SECRET_HEADER)
    if secret is not None:
        return secret
    authorization = headers.get(b"authorization")
    return None if authorization is None else bearer_secret(authorization)


def bearer_secret(authorization: bytes) -> bytes | None:
    """Return the secret in an `Authorization` header; None when it shows something else."""
    return authorization[len(BEARER) :] if authorization[: len(BEARER)].lower() == BEARER else None
