"""Who signed a request: the Web Bot Auth profile of RFC 9421, for gateway, submissions and handoff alike.

Replays, the body digest and the site's policy are checked elsewhere.
"""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from msgspec import Struct, UnsetType, structs

from agentgate.agents.identity import UNSIGNED, Identity, SignedMessage
from agentgate.agents.signing.fields import Coverage, Unreadable
from agentgate.agents.signing.key_sets import (
    TEST_KEYS,
    KeyFound,
    KeySource,
    is_current,
    is_thumbprint,
    read_key,
    thumbprint,
)
from agentgate.agents.signing.signatures import (
    ALGORITHM,
    ORIGIN_PARTS,
    OTHER_ALGORITHMS,
    AgentAddress,
    Signature,
    SignatureForm,
    UsualSignature,
    agent_address,
    tagged_signatures,
    usual_signature,
)
from agentgate.agents.signing.signed_text import text_over
from agentgate.lib.ed25519 import PublicKey
from agentgate.lib.enums import AgentVerdict
from agentgate.lib.limits import SIGNATURE_SKEW_S
from agentgate.sites.agent_policy import AgentPolicy, InlineKeys

# Key sets written in policies, each read once: they stay the same objects as long as a site's settings do.
MOST_INLINE_KEY_SETS = 1_000
NOT_SIGNED = "the signature does not match this request and key"


class _Claim(Struct, frozen=True):
    """A well-formed signature, before its key is known."""

    # The identity if the key is the agent's.
    identity: Identity
    agent: str
    keyid: str
    address: AgentAddress
    text: bytes
    signature: bytes


class _InlineKey(Struct, frozen=True):
    """A key of a policy, and the JSON Web Key it was read from."""

    key: PublicKey
    jwk: Mapping[str, Any]


class AgentVerifier:
    """Verifies the signatures of requests."""

    def __init__(self, keys: KeySource, *, allow_test_keys: bool = False) -> None:
        self._keys = keys
        self._refused_keys = frozenset[str]() if allow_test_keys else TEST_KEYS
        # By `id()` of the key set, which is referenced so that the number is not reused.
        self._inline: dict[int, tuple[InlineKeys, dict[str, _InlineKey]]] = {}

    def verify(
        self, message: SignedMessage, *, policy: AgentPolicy, now_ms: int, longest_s: int
    ) -> Identity | Awaitable[Identity]:
        """Return the identity of a request, or an awaitable if a key set has to be fetched first.

        `longest_s` is the longest time that a signature may be good for.
        """
        if b"signature-input" not in message.headers:
            return UNSIGNED
        usual = usual_signature(message.headers)
        claim = None if usual is None else self._usual_claim(usual, message, now_ms=now_ms, longest_s=longest_s)
        if claim is not None:
            return self._identify(claim, policy=policy, now_ms=now_ms)
        return self._verify_any(message, policy=policy, now_ms=now_ms, longest_s=longest_s)

    def _verify_any(
        self, message: SignedMessage, *, policy: AgentPolicy, now_ms: int, longest_s: int
    ) -> Identity | Awaitable[Identity]:
        """Return the identity of a request with any number and form of signatures."""
        try:
            signatures = tagged_signatures(message.headers)
        except Unreadable as problem:
            return _refused(AgentVerdict.INVALID, str(problem))
        if not signatures:
            return UNSIGNED
        if len(signatures) == 1:
            claim = self._claim(signatures[0], message, now_ms=now_ms, longest_s=longest_s)
            return self._identify(claim, policy=policy, now_ms=now_ms)
        claims = [self._claim(signature, message, now_ms=now_ms, longest_s=longest_s) for signature in signatures]
        refused = _find_problem(claims)
        if refused is not None:
            return refused
        return _identify_all([self._identify(claim, policy=policy, now_ms=now_ms) for claim in claims])

    def _usual_claim(
        self, usual: UsualSignature, message: SignedMessage, *, now_ms: int, longest_s: int
    ) -> _Claim | Identity | None:
        """Return the claim of a signature in the usual form; None for other forms and problems."""
        form = usual.form
        if form.keyid in self._refused_keys or _time_problem(form.created_s, form.expires_s, now_ms, longest_s):
            return None
        try:
            text = text_over(message, form.coverage, usual.text)
        except Unreadable as problem:
            return _refused(AgentVerdict.INVALID, str(problem))
        return _claim_of(form, usual.nonce, text, usual.value)

    def _claim(self, signature: Signature, message: SignedMessage, *, now_ms: int, longest_s: int) -> _Claim | Identity:
        try:
            created_s, expires_s = _times(signature.input.parameters, now_ms=now_ms, longest_s=longest_s)
            keyid = self._keyid(signature.input.parameters)
            coverage = _covered(signature.input.coverage)
            address = agent_address(message.headers, signature.label, signature.input)
            text = signature.text(message)
        except Unreadable as problem:
            return _refused(AgentVerdict.INVALID, str(problem))
        algorithm = signature.input.parameters.get("alg", ALGORITHM)
        if algorithm != ALGORITHM:
            return _other_algorithm(algorithm, address, keyid)
        if address is None:
            return _refused(
                AgentVerdict.UNVERIFIED, "the request has no Signature-Agent with the location of the key", keyid=keyid
            )
        form = SignatureForm(signature.label, coverage, created_s, expires_s, keyid, address)
        return _claim_of(form, signature.input.parameters.get("nonce"), text, signature.value)

    def _keyid(self, parameters: Mapping[str, object]) -> str:
        keyid = parameters.get("keyid")
        if not isinstance(keyid, str) or not is_thumbprint(keyid):
            raise Unreadable("keyid must be the base64url SHA-256 thumbprint of the key (RFC 7638)")
        if keyid in self._refused_keys:
            raise Unreadable("the key is published in a standard, so anyone can sign with it")
        return keyid

    def _identify(
        self, claim: _Claim | Identity, *, policy: AgentPolicy, now_ms: int
    ) -> Identity | Awaitable[Identity]:
        if isinstance(claim, Identity):
            return claim
        found = self._find_key(claim.address, claim.keyid, policy=policy, now_ms=now_ms)
        return _judged(claim, found) if isinstance(found, KeyFound) else _wait(claim, found)

    def _find_key(
        self, address: AgentAddress, keyid: str, *, policy: AgentPolicy, now_ms: int
    ) -> KeyFound | Awaitable[KeyFound]:
        entry = policy.entry_for(address.agent)
        if entry is not None and not isinstance(entry.jwks, UnsetType):
            # The policy lists the agent's keys. No key set elsewhere adds to them.
            return self._inline_key(entry.jwks, keyid, now_ms=now_ms)
        added = policy.agent_directories
        hosts = () if isinstance(added, UnsetType) else added
        return self._keys.find(address.key_url, keyid, now_ms=now_ms, hosts=hosts)

    def _inline_key(self, keys: InlineKeys, keyid: str, *, now_ms: int) -> KeyFound:
        known = self._inline.get(id(keys))
        if known is None:
            if len(self._inline) >= MOST_INLINE_KEY_SETS:
                self._inline.clear()
            known = self._inline[id(keys)] = (keys, _read_keys(keys))
        found = known[1].get(keyid)
        if found is None:
            return KeyFound(None, "the site lists other keys for this agent")
        if not is_current(found.jwk, now_ms=now_ms):
            return KeyFound(None, "the key is not yet, or no longer, in use (nbf, exp)")
        return KeyFound(found.key)


def _claim_of(form: SignatureForm, nonce: object, text: bytes, signature: bytes) -> _Claim:
    keyid, address = form.keyid, form.address
    # By position: keyword arguments take longer.
    identity = Identity(
        AgentVerdict.VERIFIED,
        None,
        address.agent,
        keyid,
        (),
        form.coverage.whole,
        f"nonce\n{address.agent}\n{keyid}\n{nonce}".encode() if nonce else b"signature\n" + signature,
        bool(nonce),
        (form.expires_s + SIGNATURE_SKEW_S) * 1000,
        form.created_s * 1000,
    )
    return _Claim(identity, address.agent, keyid, address, text, signature)


def _covered(coverage: Coverage) -> Coverage:
    if ORIGIN_PARTS.isdisjoint(coverage.whole):
        raise Unreadable("the signature must cover @authority or @target-uri")
    return coverage


def _times(parameters: Mapping[str, object], *, now_ms: int, longest_s: int) -> tuple[int, int]:
    created_s, expires_s = parameters.get("created"), parameters.get("expires")
    if type(created_s) is not int or type(expires_s) is not int:
        raise Unreadable("the signature must have created and expires, in seconds")
    problem = _time_problem(created_s, expires_s, now_ms, longest_s)
    if problem is not None:
        raise Unreadable(problem)
    return created_s, expires_s


def _time_problem(created_s: int, expires_s: int, now_ms: int, longest_s: int) -> str | None:
    if created_s * 1000 > now_ms + SIGNATURE_SKEW_S * 1000:
        return "the signature was created in the future; the clock of the agent is ahead"
    if (expires_s + SIGNATURE_SKEW_S) * 1000 <= now_ms:
        return "the signature has expired"
    if not 0 < expires_s - created_s <= longest_s:
        return f"expires must be after created, by at most {longest_s} seconds"
    return None


def _other_algorithm(algorithm: object, address: AgentAddress | None, keyid: str) -> Identity:
    agent = None if address is None else address.agent
    if algorithm in OTHER_ALGORITHMS:
        return _refused(AgentVerdict.UNVERIFIED, "alg must be ed25519", agent=agent, keyid=keyid)
    return _refused(AgentVerdict.INVALID, "alg must be ed25519", agent=agent, keyid=keyid)


def _read_keys(keys: InlineKeys) -> dict[str, _InlineKey]:
    read = ((jwk, read_key(jwk)) for jwk in keys.keys)
    return {thumbprint(jwk): _InlineKey(key, jwk) for jwk, key in read if key is not None}


def _judged(claim: _Claim, found: KeyFound) -> Identity:
    if found.key is None:
        why = found.why or "the key is unknown"
        return _refused(AgentVerdict.UNVERIFIED, why, agent=claim.agent, keyid=claim.keyid)
    if not found.key.has_signed(claim.text, claim.signature):
        return _refused(AgentVerdict.INVALID, NOT_SIGNED, agent=claim.agent, keyid=claim.keyid)
    return structs.replace(claim.identity, purposes=found.purposes) if found.purposes else claim.identity


async def _wait(claim: _Claim, found: Awaitable[KeyFound]) -> Identity:
    return _judged(claim, await found)


def _find_problem(claims: Sequence[_Claim | Identity]) -> Identity | None:
    """Return the problem with several signatures, before any key is fetched."""
    for claim in claims:
        if isinstance(claim, Identity) and claim.verdict is AgentVerdict.INVALID:
            return claim
    if len({claim.agent for claim in claims}) > 1:
        return _refused(AgentVerdict.INVALID, "the signatures of the request name two agents")
    return None


async def _identify_all(found: Sequence[Identity | Awaitable[Identity]]) -> Identity:
    identities = [each if isinstance(each, Identity) else await each for each in found]
    by_verdict: dict[AgentVerdict, list[Identity]] = {}
    for identity in identities:
        by_verdict.setdefault(identity.verdict, []).append(identity)
    if AgentVerdict.INVALID in by_verdict:
        return by_verdict[AgentVerdict.INVALID][0]
    verified = by_verdict.get(AgentVerdict.VERIFIED, [])
    if len(verified) > 1:
        # Each could be replayed alone, so neither identifies the request.
        return _refused(AgentVerdict.INVALID, "the request has two signatures of the agent; one is enough")
    return verified[0] if verified else identities[0]


def _refused(verdict: AgentVerdict, why: str, *, agent: str | None = None, keyid: str | None = None) -> Identity:
    return Identity(verdict=verdict, why=why, agent=agent, keyid=keyid)
