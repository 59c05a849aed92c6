"""Find out who signed a request: the Web Bot Auth profile of RFC 9421, for gateway, submissions and handoff.

Replays, the body digest and the site's policy are checked elsewhere.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
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
    NAME,
    ORIGIN_PARTS,
    OTHER_ALGORITHMS,
    AgentAddress,
    Signature,
    agent_address,
    tagged_signatures,
)
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
        try:
            signatures = tagged_signatures(message.headers)
        except Unreadable as problem:
            return _refused(AgentVerdict.INVALID, str(problem))
        if not signatures:
            return UNSIGNED
        now = {"now_ms": now_ms, "longest_s": longest_s}
        claims = [self._claim(signature, message, policy=policy, **now) for signature in signatures]
        found = [self._identify(claim, policy=policy, now_ms=now_ms) for claim in claims]
        return found[0] if len(found) == 1 else _identify_all(signatures, found)

    def _claim(
        self, signature: Signature, message: SignedMessage, *, policy: AgentPolicy, now_ms: int, longest_s: int
    ) -> _Claim | Identity:
        try:
            created_s, expires_s = _times(signature.input.parameters, now_ms=now_ms)
            keyid = self._keyid(signature.input.parameters)
            _check_coverage(signature.input.coverage)
            address = agent_address(message.headers, signature.label, signature.input)
            text = signature.text(message)
        except Unreadable as problem:
            return _refused(AgentVerdict.INVALID, str(problem))
        algorithm = signature.input.parameters.get("alg", ALGORITHM)
        if algorithm != ALGORITHM:
            return _other_algorithm(algorithm, address, keyid)
        if address is None and NAME.encode() not in message.headers:
            # The agent of a key that the site itself lists needs no other name.
            address = _holder_of(policy, keyid, self._inline_keys)
        why = None
        if address is None:
            why = "the request has no Signature-Agent with the location of the key"
        elif not is_thumbprint(keyid):
            why = "keyid must be the base64url SHA-256 thumbprint of the key (RFC 7638)"
        elif expires_s - created_s > longest_s:
            why = f"expires must be after created, by at most {longest_s} seconds"
        if address is None or why is not None:
            return _refused(
                AgentVerdict.UNVERIFIED, why or "", agent=None if address is None else address.agent, keyid=keyid
            )
        return _claim_of(signature, address, keyid, (created_s, expires_s), text)

    def _keyid(self, parameters: Mapping[str, object]) -> str:
        keyid = parameters.get("keyid")
        if not isinstance(keyid, str):
            raise Unreadable("the signature must have keyid, the thumbprint of the key (RFC 7638)")
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

    def _inline_keys(self, keys: InlineKeys) -> dict[str, _InlineKey]:
        known = self._inline.get(id(keys))
        if known is None:
            if len(self._inline) >= MOST_INLINE_KEY_SETS:
                self._inline.clear()
            known = self._inline[id(keys)] = (keys, _read_keys(keys))
        return known[1]

    def _inline_key(self, keys: InlineKeys, keyid: str, *, now_ms: int) -> KeyFound:
        found = self._inline_keys(keys).get(keyid)
        if found is None:
            return KeyFound(None, "the site lists other keys for this agent")
        if not is_current(found.jwk, now_ms=now_ms):
            return KeyFound(None, "the key is not yet, or no longer, in use (nbf, exp)")
        return KeyFound(found.key)


def _holder_of(
    policy: AgentPolicy, keyid: str, keys_of: Callable[[InlineKeys], Mapping[str, _InlineKey]]
) -> AgentAddress | None:
    """Return the only agent for which the policy lists this key."""
    entries = ((agent, entry.jwks) for agent, entry in policy.agents.items())
    holders = [agent for agent, jwks in entries if not isinstance(jwks, UnsetType) and keyid in keys_of(jwks)]
    return AgentAddress(holders[0], holders[0]) if len(holders) == 1 else None


def _claim_of(signature: Signature, address: AgentAddress, keyid: str, times: tuple[int, int], text: bytes) -> _Claim:
    created_s, expires_s = times
    nonce: object = signature.input.parameters.get("nonce")
    # By position: keyword arguments take longer.
    identity = Identity(
        AgentVerdict.VERIFIED,
        None,
        address.agent,
        keyid,
        (),
        signature.input.coverage.whole,
        f"nonce\n{address.agent}\n{keyid}\n{nonce}".encode() if nonce else b"signature\n" + signature.value,
        bool(nonce),
        (expires_s + SIGNATURE_SKEW_S) * 1000,
        created_s * 1000,
    )
    return _Claim(identity, address.agent, keyid, address, text, signature.value)


def _check_coverage(coverage: Coverage) -> None:
    if ORIGIN_PARTS.isdisjoint(coverage.whole):
        raise Unreadable("the signature must cover @authority or @target-uri")


def _times(parameters: Mapping[str, object], *, now_ms: int) -> tuple[int, int]:
    created_s, expires_s = parameters.get("created"), parameters.get("expires")
    if type(created_s) is not int or type(expires_s) is not int:
        raise Unreadable("the signature must have created and expires, in seconds")
    problem = _time_problem(created_s, expires_s, now_ms)
    if problem is not None:
        raise Unreadable(problem)
    return created_s, expires_s


def _time_problem(created_s: int, expires_s: int, now_ms: int) -> str | None:
    if created_s * 1000 > now_ms + SIGNATURE_SKEW_S * 1000:
        return "the signature was created in the future; the clock of the agent is ahead"
    if (expires_s + SIGNATURE_SKEW_S) * 1000 <= now_ms:
        return "the signature has expired"
    if expires_s <= created_s:
        return "expires must be after created"
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


async def _identify_all(signatures: Sequence[Signature], found: Sequence[Identity | Awaitable[Identity]]) -> Identity:
    """Return the identity of a request with several signatures, each of which stands for itself.

    The agent is the one whose signature covers another's. Without such a signature all verified ones count.
    """
    identities = [each if isinstance(each, Identity) else await each for each in found]
    verified = {
        signature.label: (signature, identity)
        for signature, identity in zip(signatures, identities, strict=True)
        if identity.verdict is AgentVerdict.VERIFIED
    }
    if not verified:
        invalid = (identity for identity in identities if identity.verdict is AgentVerdict.INVALID)
        return next(invalid, identities[0])
    covering = {
        label: _covered_labels(signature) & verified.keys() - {label} for label, (signature, _) in verified.items()
    }
    inner = set().union(*covering.values())
    outermost = [label for label, labels in covering.items() if labels and label not in inner]
    first = outermost[0] if len(outermost) == 1 else next(iter(verified))
    others = tuple(identity for label, (_, identity) in verified.items() if label != first)
    return structs.replace(verified[first][1], others=others, is_outermost=len(outermost) == 1)


def _covered_labels(signature: Signature) -> set[object]:
    """Return the labels of signatures that a signature covers together with their input (RFC 9421 2.1.2)."""
    covered: dict[str, set[object]] = {"signature": set(), "signature-input": set()}
    for component in signature.input.coverage.components:
        if component.name in covered and "key" in component.parameters:
            covered[component.name].add(component.parameters["key"])
    return covered["signature"] & covered["signature-input"]


def _refused(verdict: AgentVerdict, why: str, *, agent: str | None = None, keyid: str | None = None) -> Identity:
    return Identity(verdict=verdict, why=why, agent=agent, keyid=keyid)
