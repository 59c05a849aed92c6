"""Denials for proxies that return them: one word, sealed for a second step, or the final response.

A denial that needs neither page nor headers is one word, and the proxy creates the response itself. All others are
sealed for the visitor's request, and the proxy fetches the final response with the seal.
"""

from collections.abc import Awaitable
from typing import Protocol

import msgspec
from msgspec import UNSET, Struct

from agentgate.decision.engine import Ruling
from agentgate.events.decision_ids import write_id
from agentgate.gateway.answers import JSON, NO_STORE, SHOWN, Answers, response_headers
from agentgate.gateway.header_fingerprints import FingerprintKind
from agentgate.gateway.pending_check import PendingCheck
from agentgate.gateway.request.described_request import BODY, DENIAL
from agentgate.gateway.request.original_request import Original
from agentgate.http.connection.fast_functions import HotReply
from agentgate.lib import errors
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.enums import Outcome
from agentgate.lib.keyring import Keyring
from agentgate.lib.tagged_text import TaggedText
from agentgate.sites.directory import SiteView

PURPOSE = "challenge"
# Longer than a slow upload of a form that the page repeats.
LIFETIME_MS = 5 * MINUTE_MS
LONGEST_SEAL = 1_023
# The SDK's fetch reads these reasons and runs the check.
READ_BY_SDK = frozenset(("receipt_required", "invalid_clearance", "expired_clearance"))
# Statuses of final responses. The specified check returns 403 for all of these.
_STATUSES = {"rate_limited": 429, "payment_required": 402}
_RETRY_AFTER = {429: b"60", 503: b"5"}
_WORDS = {Outcome.BLOCK: (b"block", 403), Outcome.CHALLENGE: (b"challenge", 401)}
# Headers of a denial that programs read in its body too.
_BODY_FIELDS = {b"crawler-price": "crawlerPrice", b"crawler-error": "crawlerError"}
DROP = b"drop"
_FAULT = 500


class FinalDenial(Struct, frozen=True, array_like=True):
    """The data that the final response to a visitor depends on, besides the request."""

    method: str
    status: int
    outcome: Outcome
    reason: str
    decision_id: int | None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    expires_ms: int = 0


class DeniedRequest(Struct, frozen=True):
    """The request that is denied, as the page needs it."""

    site: SiteView
    original: Original
    visitor: int
    headers: dict[bytes, bytes]
    # None for a body that was too large or incomplete.
    body: bytes | None
    now_ms: int


class FinalResponses(Protocol):
    async def render(self, denial: FinalDenial, request: DeniedRequest) -> HotReply:
        """Return the page for a navigation, and JSON for all else."""


def final_status(ruling: Ruling) -> int:
    if ruling.response is not None and ruling.response.status is not UNSET:
        return ruling.response.status
    shown = SHOWN[ruling.outcome]
    return _STATUSES.get(ruling.reason) or errors.GATEWAY.lookup(ruling.reason).status_for(shown)


def denial_of(ruling: Ruling, method: str, decision_id: int | None) -> FinalDenial:
    status = final_status(ruling)
    headers = list(ruling.headers)
    if ruling.response is not None:
        headers += [each for each in response_headers(ruling.response) if each[0] != b"x-service-status"]
    if ruling.hint is not None:
        headers.append((b"x-service-message", ruling.hint.encode("latin-1", "replace")))
    if status in _RETRY_AFTER and not any(name == b"retry-after" for name, _ in headers):
        headers.append((b"retry-after", _RETRY_AFTER[status]))
    return FinalDenial(method, status, ruling.outcome, ruling.reason, decision_id, tuple(headers))


def word_of(ruling: Ruling, kind: FingerprintKind) -> bytes | None:
    """Return the word of a denial that needs neither page nor headers; None for any other."""
    if ruling.outcome is Outcome.DROP:
        return DROP
    word, status = _WORDS[ruling.outcome]
    if kind.is_page or ruling.response is not None or ruling.hint is not None or ruling.headers:
        return None
    return word if ruling.reason not in READ_BY_SDK and final_status(ruling) == status else None


def json_response(denial: FinalDenial) -> HotReply:
    """Return the final response for a program."""
    headers = [JSON, NO_STORE, *visible_headers(denial)]
    body = {"decision": SHOWN[denial.outcome], "reason": denial.reason}
    body |= {field: value.decode() for name, value in denial.headers if (field := _BODY_FIELDS.get(name))}
    return HotReply(denial.status, headers, msgspec.json.encode(body))


def visible_headers(denial: FinalDenial) -> list[tuple[bytes, bytes]]:
    """Return the headers that a visitor sees of a denial."""
    headers = [(b"x-service-reason", denial.reason.encode())]
    if denial.decision_id is not None:
        headers.append((b"x-service-decision-id", write_id(denial.decision_id).encode()))
    if denial.outcome is Outcome.DROP:
        headers.append((b"x-service-drop", b"1"))
    return [*headers, *denial.headers]


class SealedDenials:
    """Seals denials for a request and opens them. The keys are the challenge keys, and rotate with them.

    A seal is authenticated and not encrypted: only the adapter reads it, and the visitor is shown all that it holds.
    """

    def __init__(self, keyring: Keyring) -> None:
        self._text = TaggedText(keyring, PURPOSE, b"gateway denial")
        self._decoder = msgspec.msgpack.Decoder(FinalDenial)

    def seal(self, denial: FinalDenial, site: SiteView, original: Original, now_ms: int) -> bytes:
        """Return the text for `X-Service-Denial`."""
        denial = msgspec.structs.replace(denial, expires_ms=int(now_ms) + LIFETIME_MS)
        sealed = self._text.write(msgspec.msgpack.encode(denial), _bound_to(site, original))
        if len(sealed) <= LONGEST_SEAL:
            return sealed
        # Headers for developers of agents do not fit; a proxy's buffer for headers does not grow.
        return self.seal(msgspec.structs.replace(denial, headers=()), site, original, now_ms)

    def open(self, text: str, site: SiteView, original: Original, now_ms: int) -> FinalDenial | None:
        """Return a sealed denial; None if it is malformed, expired, or for another request."""
        if len(text) > LONGEST_SEAL:
            return None
        content = self._text.read(text, _bound_to(site, original))
        if content is None:
            return None
        denial = self._decoder.decode(content)
        return denial if now_ms < denial.expires_ms else None


def _bound_to(site: SiteView, original: Original) -> bytes:
    # No site key and no address contains a space.
    return f"{site.site_key} {original.address} {original.origin}{original.target}".encode("latin-1", "replace")


class DenialWriter:
    """Writes denials of checks that request more than the specified response."""

    def __init__(self, answers: Answers, sealed: SealedDenials) -> None:
        self._answers = answers
        self.sealed = sealed
        # Renders pages. If None, final responses are JSON.
        self.responses: FinalResponses | None = None

    def write(self, ruling: Ruling, decision_id: int | None, pending: PendingCheck) -> HotReply | Awaitable[HotReply]:
        """Return the response to a check, denial or not."""
        kind = pending.fingerprint.kind
        if not kind.form.respond or ruling.outcome is Outcome.ALLOW:
            return self._answers.write(ruling, decision_id, ok=b"ok=200" if kind.form.is_ok_200 else b"")
        is_sealed = kind.form.respond == DENIAL
        word = word_of(ruling, kind) if is_sealed else None
        if word is not None:
            return self._answers.deny(ruling, decision_id, word)
        denial = denial_of(ruling, pending.method, decision_id)
        if is_sealed or (pending.form_follows and kind.is_page and denial.status < _FAULT):
            sealed = self.sealed.seal(denial, pending.site, pending.original, pending.now_ms)
            return self._answers.deny(ruling, decision_id, sealed)
        if denial.status >= _FAULT:
            # Proxies take any 5xx for a failed check.
            denial = msgspec.structs.replace(denial, status=429)
        if not kind.is_page or self.responses is None:
            return json_response(denial)
        return self.responses.render(denial, _denied(pending))


def _denied(pending: PendingCheck) -> DeniedRequest:
    visitor, headers = pending.visitor.number, dict(pending.fields)
    return DeniedRequest(pending.site, pending.original, visitor, headers, headers.get(BODY), pending.now_ms)
