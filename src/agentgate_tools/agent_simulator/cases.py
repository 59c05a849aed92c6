"""The requests of the simulator, good and bad, each with what a site must make of it. `simulation.py` sends them."""

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from agentgate.sites.price import read_price
from agentgate_tools.agent_simulator.sign import (
    COVERED,
    AgentForm,
    AgentSigningKey,
    SignatureTerms,
    content_digest,
    make_nonce,
    sign_request,
)

WELL_KNOWN = "/.well-known/http-message-signatures-directory"
WINDOW_S = 300
HOUR_S = 3_600
EXACT, MOST = "crawler-exact-price", "crawler-max-price"

# What may be made of a request, in the gateway's words; submissions have the same where the words are the same.
ACCEPTED = "accepted"
INVALID = "agent_signature_invalid"
UNVERIFIED = "agent_unverified"
DENIED = "agent_denied"
CHALLENGED = "challenge_required"
# The policy allows an unproven agent, and the site's rules may still challenge it.
LEFT_TO_RULES = "left to the rules"
REQUIRED = "payment_required"
OFFER_INVALID = "payment_invalid"
LIMITED = "rate_limited"
AWAY = "unavailable"


class Policy(Struct, frozen=True, kw_only=True):
    """The expected policy of the site for the simulator's agent."""

    # Whether its key is listed in the policy, or in a key set that the service fetches.
    is_known: bool = True
    # `allow`, `challenge` or `deny`.
    decision: str = "allow"
    # The site's decision for unsigned agents: `allow`, `challenge` or `block`.
    unverified: str = "challenge"
    # Such as `USD 0.05`, for the simulator and for strangers; None where the request costs nothing.
    price: str | None = None
    strangers_price: str | None = None
    # A name of an agent that the policy does not list.
    claimed: str = "GPTBot/1.2"

    def of_verified(self) -> str:
        """Return what becomes of a valid signature of the simulator, with a good offer if something is due."""
        if not self.is_known:
            return self.of_unproven()
        return {"allow": ACCEPTED, "deny": DENIED}.get(self.decision, CHALLENGED)

    def of_invalid(self) -> str:
        """Return the expected result for a signature that only its key shows to be wrong."""
        return INVALID if self.is_known else self.of_unproven()

    def of_unproven(self) -> str:
        """Return what becomes of an agent that proves nothing."""
        if self.unverified != "allow":
            return UNVERIFIED
        return LEFT_TO_RULES if self.strangers_price is None else REQUIRED

    def of_stranger(self) -> str:
        """Return the expected result for a request that has no signature and does not claim to be an agent."""
        return ACCEPTED if self.strangers_price is None else REQUIRED


class Case(Struct, frozen=True, kw_only=True):
    """One request and its expected result."""

    name: str
    expected: str
    method: str = "GET"
    path: str = "/"
    headers: Mapping[str, str]
    body: bytes | None = None
    # The value of Crawler-Error; None where it does not matter.
    error: str | None = None
    # The digest of the body as the adapter computed it.
    body_digest: str | None = None
    # Sent once before, when it must be accepted.
    is_repeated: bool = False


class Writer(Struct, frozen=True, kw_only=True):
    """Signs requests of the simulator."""

    key: AgentSigningKey
    other_key: AgentSigningKey
    agent: str
    origin: str
    path: str
    policy: Policy
    now_s: int

    def terms(self, *more: str, **changes: Any) -> SignatureTerms:
        """Return usual terms with some changed; `more` is signed too."""
        usual = SignatureTerms(
            created_s=self.now_s,
            expires_s=self.now_s + WINDOW_S,
            agent=self.agent,
            nonce=make_nonce(),
            cover=(*COVERED, *more),
        )
        return replace(usual, **changes)

    def case(self, name: str, expected: str, terms: SignatureTerms | None = None, **request: Any) -> Case:
        """Return a signed request. It offers the price, unless `headers` contain something else.

        The signature can cover another request: by `key`, `signed_method`, `signed_origin` and `signed_path`.
        """
        key = request.pop("key", self.key)
        method, path = request.get("method", "GET"), request.setdefault("path", self.path)
        signed_url = request.pop("signed_origin", self.origin) + request.pop("signed_path", path)
        signed_method = request.pop("signed_method", method)
        headers = request.pop("headers", {} if self.policy.price is None else {EXACT: self.policy.price})
        terms = terms or self.terms(*(header for header in headers if header != "content-type"))
        if EXACT in headers and EXACT not in terms.cover:
            terms = replace(terms, cover=(*terms.cover, EXACT))
        signed = sign_request(key, signed_method, signed_url, headers=headers, terms=terms)
        return Case(name=name, expected=expected, headers=signed, **request)


def page_cases(writer: Writer) -> Iterator[Case]:
    """Return what is sent to a protected page, directly or as its proxy asks about it."""
    policy = writer.policy
    claim = {"user-agent": f"Mozilla/5.0 (compatible; {policy.claimed})"}
    yield Case(
        name="no signature, claims to be an agent", expected=policy.of_unproven(), path=writer.path, headers=claim
    )
    yield from _good(writer)
    yield from _wrong_times(writer)
    yield from _wrong_signatures(writer)
    yield from _not_for_us(writer)
    if policy.price is not None and policy.is_known and policy.decision == "allow":
        yield from _offers(writer, policy.price)


def _good(writer: Writer) -> Iterator[Case]:
    expected = writer.policy.of_verified()
    yield writer.case("valid, Signature-Agent as a string", expected)
    yield writer.case("valid, Signature-Agent as a dictionary", expected, writer.terms(form=AgentForm.MEMBER))
    key_set = writer.agent if "/" in writer.agent.removeprefix("https://") else writer.agent + WELL_KNOWN
    yield writer.case(
        "valid, Signature-Agent as the key set's URL", expected, writer.terms(form=AgentForm.MEMBER, agent=key_set)
    )
    yield writer.case(
        "valid, covers the whole dictionary, separate label",
        expected,
        writer.terms(form=AgentForm.DICTIONARY, label="mine"),
    )
    yield writer.case(
        "valid, covers @target-uri, no nonce",
        expected,
        writer.terms(cover=("@target-uri", "signature-agent"), nonce=None),
    )
    yield writer.case("the same request again", writer.policy.of_invalid(), is_repeated=True)


def _wrong_times(writer: Writer) -> Iterator[Case]:
    now_s = writer.now_s
    # A signature that is only valid for too long proves nothing, but breaks no rule of the draft.
    yield writer.case("valid for 25 hours", writer.policy.of_unproven(), writer.terms(expires_s=now_s + 25 * HOUR_S))
    for name, created_s, expires_s in (
        ("expired an hour ago", now_s - 2 * HOUR_S, now_s - HOUR_S),
        ("created in an hour", now_s + HOUR_S, now_s + HOUR_S + WINDOW_S),
        ("expires before it was created", now_s, now_s - 1),
        ("without created", None, now_s + WINDOW_S),
        ("without expires", now_s, None),
    ):
        yield writer.case(name, INVALID, writer.terms(created_s=created_s, expires_s=expires_s))


def _wrong_signatures(writer: Writer) -> Iterator[Case]:
    of_invalid = writer.policy.of_invalid()
    yield writer.case("signed with another key", of_invalid, writer.terms(keyid=writer.key.keyid), key=writer.other_key)
    yield writer.case("a key that the agent does not list", writer.policy.of_unproven(), key=writer.other_key)
    yield writer.case("a keyid that is not a thumbprint", writer.policy.of_unproven(), writer.terms(keyid="my-key"))
    yield writer.case("another path was signed", of_invalid, signed_path="/signed-elsewhere")
    yield writer.case("another method was signed", of_invalid, signed_method="POST")
    yield writer.case("another host was signed", of_invalid, signed_origin="https://another.example")
    yield writer.case(
        "covers neither @authority nor @target-uri", INVALID, writer.terms(cover=("@method", "signature-agent"))
    )
    yield writer.case("does not cover Signature-Agent", INVALID, writer.terms(cover=("@authority", "@method", "@path")))
    yield writer.case("Signature-Agent without TLS", INVALID, writer.terms(agent="http://agent.example"))
    good = writer.case("", "").headers
    yield Case(
        name="Signature-Input that cannot be read",
        expected=INVALID,
        path=writer.path,
        headers={**good, "signature-input": 'sig1=("@authority";created=1;tag="web-bot-auth"'},
    )
    padding = " ".join(f'"x-{number}"' for number in range(1_000))
    yield Case(
        name="Signature-Input of more than 8 kB",
        expected=INVALID,
        path=writer.path,
        headers={**good, "signature-input": f'sig1=({padding});created=1;tag="web-bot-auth"'},
    )


def _not_for_us(writer: Writer) -> Iterator[Case]:
    """Yield requests with signatures of another kind, which AgentGate ignores: each request counts as unsigned."""
    expected = writer.policy.of_stranger()
    yield writer.case("another tag", expected, writer.terms(tag="agent-payer-auth"), headers={})
    yield writer.case("no tag", expected, writer.terms(tag=None), headers={})


def digest_cases(writer: Writer) -> Iterator[Case]:
    """Yield the requests that need a proxy which inspects bodies."""
    digest, other = content_digest(b""), content_digest(b"another body")
    offer = {} if writer.policy.price is None else {EXACT: writer.policy.price}
    for name, expected, signed in (
        ("signs the digest of its body", writer.policy.of_verified(), digest),
        ("signs the digest of another body", writer.policy.of_invalid(), other),
    ):
        yield writer.case(name, expected, headers={**offer, "content-digest": signed}, body_digest=digest)


def _offers(writer: Writer, price: str) -> Iterator[Case]:
    due = read_price(price)
    assert due is not None, "only readable prices are in policies"
    units, currency = due.minor_units, price[:3]
    other = "EUR" if currency != "EUR" else "USD"
    less, more = (f"{currency} {cents // 100}.{cents % 100:02}" for cents in (max(units - 1, 0), units + 1))
    for name, offer, expected, error in (
        ("offers nothing", {}, REQUIRED, "MissingCrawlerPrice"),
        ("offers exactly the price", {EXACT: price}, ACCEPTED, None),
        ("offers exactly more", {EXACT: more}, REQUIRED, "InvalidCrawlerExactPrice"),
        ("offers exactly another currency", {EXACT: f"{other} {price[4:]}"}, REQUIRED, "InvalidCrawlerExactPrice"),
        ("offers at most the price", {MOST: price}, ACCEPTED, None),
        ("offers at most more", {MOST: more}, ACCEPTED, None),
        ("offers at most less", {MOST: less}, REQUIRED, "InvalidCrawlerMaxPrice"),
        ("offers in another form", {EXACT: f"{price[4:]} {currency}"}, OFFER_INVALID, "InvalidCrawlerPriceValue"),
        ("offers twice", {EXACT: price, MOST: price}, OFFER_INVALID, "ConflictingPriceHeaders"),
    ):
        yield writer.case(name, expected, headers=offer, error=error)
    unsigned = writer.case("", "", headers={})
    yield replace(
        unsigned,
        name="offers without signing the offer",
        expected=OFFER_INVALID,
        headers={**unsigned.headers, EXACT: price},
        error="StrongAuthRequired",
    )
    yield writer.case("/robots.txt costs nothing", ACCEPTED, headers={}, path="/robots.txt")


class Form(Struct, frozen=True, kw_only=True):
    """The site and the action of a submitted form."""

    site_key: str
    action: str


def submit_cases(writer: Writer, form: Form) -> Iterator[Case]:
    """Return what is sent to `POST /agent/submit`."""
    verified = writer.policy.of_verified() if writer.policy.is_known else UNVERIFIED
    broken = INVALID if writer.policy.is_known else UNVERIFIED
    body = _content(form)
    yield _submission(writer, "submits, signed", verified, body)
    yield _submission(writer, "submits in another dialect", verified, _content(form), form=AgentForm.MEMBER)
    yield replace(
        _submission(writer, "", INVALID, body), name="submits without a signature", headers=_PLAIN, expected=UNVERIFIED
    )
    yield _submission(writer, "submits for longer than 10 minutes", UNVERIFIED, body, expires_s=writer.now_s + 700)
    yield _submission(
        writer, "submits too late", INVALID, body, created_s=writer.now_s - 500, expires_s=writer.now_s - 200
    )
    yield _submission(writer, "submits without signing the digest", broken, body, cover=COVERED)
    yield replace(_submission(writer, "submits another body than it signed", broken, body), body=_content(form))
    if writer.policy.is_known and writer.policy.decision == "allow":
        first = json.loads(body)
        yield _submission(writer, "submits the same again", ACCEPTED, body)
        yield _submission(
            writer, "submits other content under a used id", "submission_conflict", _content(form, id=first["id"])
        )
        yield replace(_submission(writer, "replays a submission", INVALID, _content(form)), is_repeated=True)
    yield _submission(writer, "submits to an unknown site", "site_invalid", _content(form, siteKey="site_unknown"))
    yield _submission(
        writer, "submits for an unknown action", "action_invalid", _content(form, action="no-such-action")
    )
    yield _submission(writer, "submits no JSON", "invalid_request", b"hello")
    yield _submission(writer, "submits more than 64 KiB", "invalid_request", _content(form, content="x" * 70_000))


_PLAIN = {"content-type": "application/json"}


def _submission(writer: Writer, name: str, expected: str, body: bytes, **changes: object) -> Case:
    headers = {**_PLAIN, "content-digest": content_digest(body)}
    if writer.policy.price is not None:
        headers[EXACT] = writer.policy.price
    covered = [header for header in headers if header != "content-type"]
    terms = writer.terms(*covered, **changes)
    return writer.case(name, expected, terms, method="POST", path="/agent/submit", headers=headers, body=body)


def _content(form: Form, **changes: object) -> bytes:
    usual = {
        "siteKey": form.site_key,
        "action": form.action,
        "id": f"agent-sim-{secrets.token_hex(8)}",
        # Never the same twice, so that another body has another digest.
        "content": {"message": f"Hello from the agent simulator, number {secrets.randbelow(10**9)}."},
    }
    return json.dumps({**usual, **changes}).encode()
