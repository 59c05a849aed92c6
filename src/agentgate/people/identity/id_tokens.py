"""ID tokens (OpenID Connect Core, 3.1.3.7): a signature by a key of the issuer, for this client and this sign-in."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from msgspec import Meta, Struct

from agentgate.lib import base64url
from agentgate.lib.clock import SECOND_MS
from agentgate.lib.records import UNREADABLE

LEEWAY_S = 60
LEAST_RSA_BITS, MOST_RSA_BITS = 2048, 8192
P256_BYTES = 32

Key = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey
# The algorithm that goes with a kind of key. The header only chooses among these: never `none`, and never a MAC, for
# which a public key would be the secret.
_ALGORITHMS: Mapping[str, type[Key]] = {
    "RS256": rsa.RSAPublicKey,
    "ES256": ec.EllipticCurvePublicKey,
    "EdDSA": ed25519.Ed25519PublicKey,
}


class IdTokenRefused(Exception):  # noqa: N818 - says what happened
    """The token does not prove anything. The reason is for the log."""


class Jwk(Struct, frozen=True, kw_only=True):
    """A key of a JWK set, with the fields of the three kinds."""

    kty: str
    kid: str = ""
    use: str = "sig"
    crv: str = ""
    n: str = ""
    e: str = ""
    x: str = ""
    y: str = ""


class Header(Struct, frozen=True):
    """The parts of a token's header that count."""

    alg: str
    kid: str = ""
    # An extension that must be understood; none is.
    crit: Any = None


class TokenClaims(Struct, frozen=True, kw_only=True):
    """The claims that every ID token needs, and the optional ones that count."""

    iss: str
    sub: Annotated[str, Meta(min_length=1, max_length=255)]
    aud: str | list[str]
    exp: float
    iat: float
    nonce: str
    azp: str | None = None
    nbf: float = 0


def read_key(jwk: Jwk) -> Key | None:
    """Return a key that may sign ID tokens; None for any other."""
    if jwk.use != "sig":
        return None
    try:
        if jwk.kty == "RSA":
            modulus = _number(jwk.n)
            if not LEAST_RSA_BITS <= modulus.bit_length() <= MOST_RSA_BITS:
                return None
            return rsa.RSAPublicNumbers(_number(jwk.e), modulus).public_key()
        if (jwk.kty, jwk.crv) == ("EC", "P-256"):
            return ec.EllipticCurvePublicNumbers(_number(jwk.x), _number(jwk.y), ec.SECP256R1()).public_key()
        if (jwk.kty, jwk.crv) == ("OKP", "Ed25519"):
            return ed25519.Ed25519PublicKey.from_public_bytes(base64url.decode(jwk.x))
    except ValueError:
        pass
    return None


def read_header(token: str) -> Header:
    """Return the header of a token; raise IdTokenRefused if its algorithm is not one of ours."""
    try:
        header = msgspec.json.decode(base64url.decode(token.partition(".")[0]), type=Header)
    except UNREADABLE:
        raise IdTokenRefused("the token is malformed") from None
    if header.alg not in _ALGORITHMS or header.crit is not None:
        raise IdTokenRefused("the algorithm is not accepted")
    return header


def verify(
    token: str, keys: Mapping[str, Key], *, issuer: str, client_id: str, nonce: str, now_ms: int
) -> dict[str, Any]:
    """Return all claims of a token; raise IdTokenRefused unless each check passes."""
    header = read_header(token)
    signed, _, signature = token.rpartition(".")
    # A token without a key ID is accepted only if there is no choice.
    key = keys.get(header.kid) if header.kid else next(iter(keys.values())) if len(keys) == 1 else None
    if key is None:
        raise IdTokenRefused("the key is unknown")
    if not isinstance(key, _ALGORITHMS[header.alg]):
        raise IdTokenRefused("the key is for another algorithm")
    try:
        _check_signature(key, base64url.decode(signature), signed.encode("ascii"))
        payload = msgspec.json.decode(base64url.decode(signed.partition(".")[2]), type=dict[str, Any])
        claims = msgspec.convert(payload, TokenClaims)
    except InvalidSignature:
        raise IdTokenRefused("the signature is wrong") from None
    except UNREADABLE:
        raise IdTokenRefused("the token is malformed") from None
    _check_claims(claims, issuer=issuer, client_id=client_id, nonce=nonce, now_s=now_ms / SECOND_MS)
    return payload


def _check_claims(claims: TokenClaims, *, issuer: str, client_id: str, nonce: str, now_s: float) -> None:
    audience = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    if claims.iss != issuer:
        raise IdTokenRefused("the issuer is another")
    if client_id not in audience:
        raise IdTokenRefused("the audience is another")
    if claims.azp != client_id and (claims.azp is not None or len(audience) != 1):
        raise IdTokenRefused("the token was issued to another client")
    if claims.nonce != nonce:
        raise IdTokenRefused("the nonce is another")
    if now_s >= claims.exp + LEEWAY_S or now_s < max(claims.iat, claims.nbf) - LEEWAY_S:
        raise IdTokenRefused("the token is not valid at this time")


def _check_signature(key: Key, signature: bytes, signed: bytes) -> None:
    if isinstance(key, rsa.RSAPublicKey):
        key.verify(signature, signed, padding.PKCS1v15(), SHA256())
    elif isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(signature, signed)
    else:
        if len(signature) != 2 * P256_BYTES:
            raise InvalidSignature
        left, right = (int.from_bytes(half) for half in (signature[:P256_BYTES], signature[P256_BYTES:]))
        key.verify(encode_dss_signature(left, right), signed, ec.ECDSA(SHA256()))


def _number(text: str) -> int:
    return int.from_bytes(base64url.decode(text))
