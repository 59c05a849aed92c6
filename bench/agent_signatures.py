"""`python -m bench.agent_signatures`: the cost of identifying the signer of a request, in microseconds of CPU.

It is compared with the bare check of the Ed25519 signature, which every verifier needs, and with the same check by
OpenSSL.
"""

import time
from collections.abc import Callable, Collection

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from agentgate.agents.identity import Identity, SignedMessage
from agentgate.agents.signing.key_sets import KeyFound, read_key
from agentgate.agents.signing.signatures import tagged_signatures
from agentgate.agents.signing.verify import AgentVerifier
from agentgate.lib.enums import AgentVerdict
from agentgate.sites.agent_policy import DEFAULT_POLICY
from agentgate_tools.agent_simulator.sign import (
    AgentForm,
    AgentSigningKey,
    SignatureTerms,
    content_digest,
    make_nonce,
    sign_request,
)

REQUESTS = 500
ROUNDS = 7
NOW_S = 1_800_000_000
URL = "https://shop.example/products/1234?color=blue&size=m"
COVER = ("@method", "@authority", "@path", "@query", "content-digest", "crawler-max-price", "signature-agent")


class _CachedKey:
    """A key source that has the key already."""

    def __init__(self, key: AgentSigningKey) -> None:
        self._found = KeyFound(read_key(key.jwk))

    def find(self, _url: str, _keyid: str, *, now_ms: int, hosts: Collection[str] = ()) -> KeyFound:
        """Return the one key."""
        del now_ms, hosts
        return self._found


def signed_requests(key: AgentSigningKey, form: AgentForm) -> list[SignedMessage]:
    """Return different requests, as an agent signs them."""
    requests = []
    for number in range(REQUESTS):
        terms = SignatureTerms(created_s=NOW_S, expires_s=NOW_S + 60, form=form, cover=COVER, nonce=make_nonce())
        headers = {
            "accept": "text/html",
            "user-agent": "Mozilla/5.0 (compatible; ExampleAgent/1.0)",
            "content-digest": content_digest(str(number).encode()),
            "crawler-max-price": "USD 0.05",
        }
        signed = sign_request(key, "GET", URL, headers=headers, terms=terms)
        requests.append(
            SignedMessage(
                method="GET",
                scheme="https",
                authority="shop.example",
                target=URL.removeprefix("https://shop.example"),
                headers={name.encode(): value.encode() for name, value in signed.items()},
            )
        )
    return requests


def measure() -> dict[str, float]:
    """Return the measurements. The rounds alternate, so that a busy machine slows each of them alike."""
    key = AgentSigningKey(bytes(range(32)))
    verifier, public = AgentVerifier(_CachedKey(key)), read_key(key.jwk)
    assert public is not None
    openssl = Ed25519PublicKey.from_public_bytes(public.raw)
    strings, members = signed_requests(key, AgentForm.STRING), signed_requests(key, AgentForm.MEMBER)
    signatures = [(message, tagged_signatures(message.headers)[0]) for message in strings]
    made = [(signature.value, signature.text(message)) for message, signature in signatures]
    unsigned = SignedMessage(method="GET", scheme="https", authority="shop.example", target="/", headers={})

    def verify(message: SignedMessage) -> object:
        return verifier.verify(message, policy=DEFAULT_POLICY, now_ms=NOW_S * 1000, longest_s=600)

    for message in (*strings, *members):
        identity = verify(message)
        assert isinstance(identity, Identity)
        assert identity.verdict is AgentVerdict.VERIFIED
    work: dict[str, Callable[[], object]] = {
        "ed25519_us": lambda: [public.has_signed(base, signature) for signature, base in made],
        "openssl_us": lambda: [openssl.verify(signature, base) for signature, base in made],
        "string_us": lambda: [verify(message) for message in strings],
        "member_us": lambda: [verify(message) for message in members],
        "unsigned_us": lambda: [verify(unsigned) for _ in range(REQUESTS)],
    }
    least = dict.fromkeys(work, float("inf"))
    for _ in range(ROUNDS):
        for name, run in work.items():
            started = time.process_time_ns()
            run()
            least[name] = min(least[name], (time.process_time_ns() - started) / 1000 / REQUESTS)
    return {**least, "ratio_to_ed25519": least["string_us"] / least["ed25519_us"]}


if __name__ == "__main__":
    for figure, value in measure().items():
        print(f"{figure:<22}{value:>10.2f}")
