"""Sign-in with OpenID Connect: the authorization code flow with PKCE, at the issuers of the operator's settings.

State, nonce and code verifier are in a sealed cookie: a response is accepted only in the browser that asked for it.
"""

import asyncio
import base64
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec
import structlog
from msgspec import Struct

from agentgate.http.address import source_of
from agentgate.http.call import Call
from agentgate.http.outbound.client import Outbound, OutboundAnswer, OutboundFailed, read_target
from agentgate.http.replies import set_cookie
from agentgate.lib import base64url
from agentgate.lib.clock import HOUR_MS, MINUTE_MS, SECOND_MS
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import KeysUnreadable, Sealer
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.records import UNREADABLE
from agentgate.lib.secrets import new_secret, same
from agentgate.lib.settings.schema import Settings
from agentgate.lib.settings.values import OidcIssuer
from agentgate.people.identity.id_tokens import IdTokenRefused, Jwk, Key, read_header, read_key, verify

COOKIE = "ag_oidc"
FLOW_MS = 10 * MINUTE_MS
_MOST_CHARACTERS = 3072
_CONTEXT = "oidc"

METADATA_MS = HOUR_MS
KEYS_MS = 10 * MINUTE_MS
# Tokens name any key they like: an unknown one causes at most one request in this time.
KEYS_LEAST_MS = MINUTE_MS
MOST_KEYS = 32
MOST_GROUPS = 1000
T = TypeVar("T")
PER_SOURCE = Window("oidc-source", 60, 15 * MINUTE_MS)

_log = structlog.get_logger("agentgate.oidc")


class Metadata(Struct, frozen=True, kw_only=True):
    """The parts of an issuer's configuration document that count."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class IssuerKeys(Struct, frozen=True):
    """A JWK set. Each key of an unknown kind is skipped."""

    keys: list[dict[str, Any]]


class Tokens(Struct, frozen=True):
    """The response of a token endpoint."""

    id_token: str
    access_token: str = ""


class Flow(Struct, frozen=True, array_like=True):
    """A sign-in that has begun, as the browser keeps it."""

    issuer: str
    state: str
    nonce: str
    verifier: str
    redirect_uri: str
    next_path: str
    expires_ms: int


class ProvenPerson(Struct, frozen=True, kw_only=True):
    """A person as an issuer has confirmed them. The address is empty unless the issuer has verified it."""

    issuer: str
    issuer_url: str
    subject: str
    email: str
    groups: frozenset[str]


class Failed(Exception):  # noqa: N818 - says what happened
    """The issuer gave no usable response. The reason is for the log."""


class Issuers:
    """Starts and finishes sign-ins at the issuers of the settings."""

    def __init__(self, settings: Settings, sealer: Sealer, limiter: Limiter) -> None:
        claim = settings.oidc_groups_claim
        self._issuers = {each.name: _Issuer(each, groups_claim=claim) for each in settings.oidc_issuers}
        self._operators = frozenset(each.partition(":")[::2] for each in settings.oidc_operators)
        self._sealer = sealer
        self._limiter = limiter

    @property
    def names(self) -> list[str]:
        """The names of all issuers, in the order of the settings."""
        return list(self._issuers)

    @property
    def for_operators(self) -> list[str]:
        """The names of the issuers with a group that may operate the installation."""
        allowed = {issuer for issuer, _ in self._operators}
        return [name for name in self._issuers if name in allowed]

    def check_operator(self, identity: ProvenPerson) -> None:
        """Reject a person none of whose groups may operate the installation."""
        if not any((identity.issuer, group) in self._operators for group in identity.groups):
            raise Refused("forbidden", "None of your groups may operate this installation.")

    async def begin(
        self, call: Call, name: str, *, redirect_uri: str, path: str, next_path: str = ""
    ) -> tuple[tuple[str, str], ...]:
        """Return the headers that send the browser to the issuer; `path` is the path of the flow's cookie."""
        await self._limiter.require(PER_SOURCE, source_of(call.request.address))
        issuer = self._issuers.get(name)
        if issuer is None:
            raise Refused("not_found", "There is no issuer of this name.")
        flow = Flow(
            issuer=name,
            state=new_secret(),
            nonce=new_secret(),
            verifier=new_secret(),
            redirect_uri=redirect_uri,
            next_path=next_path,
            expires_ms=call.now + FLOW_MS,
        )
        try:
            location = await issuer.authorization_url(flow, call.now)
        except Failed as failure:
            raise _refused(name, failure) from None
        return ("location", location), self._cookie(call, path, self._seal(flow), FLOW_MS // SECOND_MS)

    async def finish(self, call: Call, *, path: str) -> tuple[ProvenPerson, str]:
        """Return the person whom the response of an issuer proves, and the page to open; raise oidc_failed."""
        await self._limiter.require(PER_SOURCE, source_of(call.request.address))
        query = call.request.query()
        flow = self._open(call.request.cookie(COOKIE) or "")
        if flow is None or flow.expires_ms <= call.now or not flow.redirect_uri.endswith(path):
            raise Refused("oidc_failed", "The sign-in has expired or began in another browser. Start again.")
        if not same(query.get("state", "").encode(), flow.state.encode()):
            raise _refused(flow.issuer, Failed("the state is another"))
        issuer = self._issuers.get(flow.issuer)
        if issuer is None:
            raise Refused("oidc_failed", "This identity provider was removed.")
        try:
            return await issuer.identity(flow, query, call.now), flow.next_path
        except (Failed, IdTokenRefused) as failure:
            raise _refused(flow.issuer, failure) from None

    def cleared_cookie(self, call: Call, path: str) -> tuple[str, str]:
        """Return the header that ends the flow in this browser."""
        return self._cookie(call, path, "", 0)

    def _cookie(self, call: Call, path: str, value: str, max_age_s: int) -> tuple[str, str]:
        # The issuer's page leads back here, so the cookie must come with requests from other sites.
        return set_cookie(COOKIE, value, path=path, same_site="Lax", secure=call.request.secure, max_age_s=max_age_s)

    def _seal(self, flow: Flow) -> str:
        return base64url.encode(self._sealer.seal(msgspec.json.encode(flow), _CONTEXT))

    def _open(self, value: str) -> Flow | None:
        if len(value) > _MOST_CHARACTERS:
            return None
        try:
            return msgspec.json.decode(self._sealer.open(base64url.decode(value), _CONTEXT), type=Flow)
        except (ValueError, KeysUnreadable):
            return None


class _Issuer:
    """One issuer: its configuration document and its keys, both kept for some time."""

    def __init__(self, given: OidcIssuer, *, groups_claim: str) -> None:
        self._given = given
        self._groups_claim = groups_claim
        # The operator named this host, so it may be in the operator's own network. Other hosts of the issuer may not.
        self._outbound = Outbound(frozenset({read_target(given.url).host}))
        self._metadata: Metadata | None = None
        self._metadata_ms = 0
        self._keys: Mapping[str, Key] = {}
        self._keys_ms = 0
        self._turn = asyncio.Lock()

    async def authorization_url(self, flow: Flow, now_ms: int) -> str:
        """Return where the browser has to go."""
        metadata = await self._read_metadata(now_ms)
        challenge = base64url.encode(sha256(flow.verifier.encode()).digest())
        asked = {
            "response_type": "code",
            "client_id": self._given.client_id,
            "redirect_uri": flow.redirect_uri,
            "scope": "openid email profile",
            "state": flow.state,
            "nonce": flow.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        separator = "&" if "?" in metadata.authorization_endpoint else "?"
        return f"{metadata.authorization_endpoint}{separator}{urlencode(asked)}"

    async def identity(self, flow: Flow, query: Mapping[str, str], now_ms: int) -> ProvenPerson:
        """Exchange the code, and return the person that the ID token names."""
        metadata = await self._read_metadata(now_ms)
        named = query.get("iss", None if metadata.authorization_response_iss_parameter_supported else metadata.issuer)
        if named != metadata.issuer:
            # RFC 9207: else one issuer could have the code of another sent to itself.
            raise Failed("the response is from another issuer")
        if "code" not in query:
            raise Failed("the response has no code")
        tokens = await self._exchange(metadata, flow, query["code"])
        claims = verify(
            tokens.id_token,
            await self._keys_for(metadata, tokens.id_token, now_ms),
            issuer=metadata.issuer,
            client_id=self._given.client_id,
            nonce=flow.nonce,
            now_ms=now_ms,
        )
        if "email" not in claims and tokens.access_token and metadata.userinfo_endpoint:
            claims = {**await self._userinfo(metadata, tokens, claims["sub"]), **claims}
        groups = claims.get(self._groups_claim, [])
        groups = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
        email = claims.get("email")
        return ProvenPerson(
            issuer=self._given.name,
            issuer_url=metadata.issuer,
            subject=claims["sub"],
            email=email if isinstance(email, str) and claims.get("email_verified") is True else "",
            groups=frozenset(each for each in groups[:MOST_GROUPS] if isinstance(each, str)),
        )

    async def _read_metadata(self, now_ms: int) -> Metadata:
        async with self._turn:
            if self._metadata is None or now_ms - self._metadata_ms >= METADATA_MS:
                url = self._given.url.rstrip("/") + "/.well-known/openid-configuration"
                found = _decoded(await self._get(url), Metadata)
                if found.issuer != self._given.url:
                    raise Failed("the configuration is of another issuer")
                for address in (found.authorization_endpoint, found.token_endpoint, found.jwks_uri):
                    self._check(address)
                self._metadata, self._metadata_ms = found, now_ms
            return self._metadata

    async def _keys_for(self, metadata: Metadata, token: str, now_ms: int) -> Mapping[str, Key]:
        kid = read_header(token).kid
        async with self._turn:
            age_ms = now_ms - self._keys_ms
            if age_ms >= KEYS_MS or (kid not in self._keys and age_ms >= KEYS_LEAST_MS):
                # Noted first: failures count too.
                self._keys_ms = now_ms
                found = _decoded(await self._get(metadata.jwks_uri), IssuerKeys)
                self._keys = dict(_read_keys(found))
            return self._keys

    async def _exchange(self, metadata: Metadata, flow: Flow, code: str) -> Tokens:
        given = self._given
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": flow.redirect_uri,
            "code_verifier": flow.verifier,
        }
        headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
        methods = metadata.token_endpoint_auth_methods_supported
        if given.client_secret and ("client_secret_basic" in methods or "client_secret_post" not in methods):
            # RFC 6749, 2.3.1: both are form-encoded first.
            pair = f"{quote(given.client_id, safe='')}:{quote(given.client_secret, safe='')}"
            headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        else:
            form["client_id"] = given.client_id
            if given.client_secret:
                form["client_secret"] = given.client_secret
        try:
            answer = await self._outbound.post(metadata.token_endpoint, headers, urlencode(form).encode())
        except OutboundFailed as failure:
            raise Failed(f"no token: {failure.reason}") from None
        return _decoded(answer, Tokens)

    async def _userinfo(self, metadata: Metadata, tokens: Tokens, subject: str) -> dict[str, Any]:
        answer = await self._get(metadata.userinfo_endpoint, authorization=f"Bearer {tokens.access_token}")
        found = _decoded(answer, dict[str, Any])
        if found.get("sub") != subject:
            raise Failed("the user information is of another person")
        return found

    async def _get(self, url: str, **headers: str) -> OutboundAnswer:
        try:
            return await self._outbound.get(url, {"accept": "application/json", **headers})
        except (OutboundFailed, ValueError) as failure:
            raise Failed(f"{url}: {failure}") from None

    def _check(self, url: str) -> None:
        try:
            self._outbound.check(url)
        except OutboundFailed as failure:
            raise Failed(f"an address of the configuration {failure.reason}") from None


def _read_keys(found: IssuerKeys) -> list[tuple[str, Key]]:
    read = []
    for each in found.keys[:MOST_KEYS]:
        try:
            jwk = msgspec.convert(each, Jwk)
        except ValueError:
            continue
        key = read_key(jwk)
        if key is not None:
            read.append((jwk.kid, key))
    return read


def _decoded(answer: OutboundAnswer, kind: type[T]) -> T:
    if answer.status != 200 or not answer.complete:
        raise Failed(f"the issuer responded with {answer.status}")
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except UNREADABLE:
        raise Failed("the response of the issuer is malformed") from None


def _refused(name: str, failure: Exception) -> Refused:
    # For the operator: the browser's user cannot change any of it.
    _log.warning("sign-in with an issuer failed", issuer=name, reason=str(failure))
    return Refused("oidc_failed")
