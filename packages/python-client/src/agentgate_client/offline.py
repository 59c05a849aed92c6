"""Verifying tokens by their signature alone, while the service is unavailable.

Offline, the client cannot know whether a token was used elsewhere; `reconcile` finds out afterwards.
"""

import contextlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from agentgate_client.clock import now_s as machine_now_s
from agentgate_client.key_set import FetchedKeys, GivenKeys, KeySource
from agentgate_client.question import Question, new_request_id
from agentgate_client.receipts import Claims, NotAReceipt, read_receipt, read_receipt_id
from agentgate_client.results import Unavailable, VerificationFailed, Verified
from agentgate_client.spent import Spent, SpentFull, SpentReceipts

# How far the service's clock may be ahead of ours.
SKEW_S = 5
CAPACITY = 100_000


class OfflineVerifier:
    """Checks a token's signature, site, time, action and origin, and accepts each once in this process.

    The keys come from the service at `source`, or are a key set that is handed in.
    """

    def __init__(
        self,
        source: str | Mapping[str, Any] | KeySource,
        site_key: str,
        *,
        capacity: int = CAPACITY,
        now_s: Callable[[], float] = machine_now_s,
    ) -> None:
        self._keys = _keys_of(source)
        self._site_key = site_key
        self._now_s = now_s
        self._spent = SpentReceipts(capacity)

    def verify(
        self,
        token: str,
        *,
        expected_action: str,
        expected_origin: str | None = None,
        request_id: str | None = None,
        content_digest: str | None = None,
    ) -> Verified:
        """Accept a token once; raise `VerificationFailed`, or `Unavailable` while no keys are known."""
        question = Question(
            token=token,
            expected_action=expected_action,
            request_id=request_id or new_request_id(),
            expected_origin=expected_origin,
            content_digest=content_digest,
        )
        return self.recall(question) or self.judge(question)

    def refresh(self) -> bool:
        """Fetch the keys now, such as at the start of the program; return whether there are any."""
        return self._keys.refresh()

    def judge(self, question: Question) -> Verified:
        """Accept what the question asks about, or raise why not."""
        try:
            claims = read_receipt(question.token, self._keys.find)
        except NotAReceipt as problem:
            if not self._keys.is_known:
                raise Unavailable(
                    "AgentGate is unavailable and its keys are unknown", request_id=question.request_id
                ) from None
            raise VerificationFailed("invalid_token", str(problem)) from None
        _check_fits(claims, question, site_key=self._site_key, now_s=self._now_s())
        return self._spend(claims, question)

    def recall(self, question: Question) -> Verified | None:
        """Return the earlier offline result of the same question; reject a token that another question redeemed."""
        spent = self._find(question.token)
        if spent is None or spent.verified.source != "offline":
            return None
        return _same(spent, question)

    def note(self, question: Question, verified: Verified) -> None:
        """Record a token that the service accepted, and keep the keys fresh in case the service becomes unavailable."""
        receipt_id = read_receipt_id(question.token)
        if receipt_id is not None and verified.expires_at is not None and not verified.test:
            spent = Spent(verified.expires_at.timestamp(), verified)
            # When full, the service still has the record. The client misses only a second use during an outage, and
            # `reconcile` finds it later.
            with contextlib.suppress(SpentFull):
                self._spent.add(receipt_id, spent, now_s=self._now_s())
        self._keys.refresh_soon()

    def _spend(self, claims: Claims, question: Question) -> Verified:
        mine = Spent(claims.expires_s, _verified(claims, question))
        try:
            counts = self._spent.add(claims.receipt_id, mine, now_s=self._now_s())
        except SpentFull:
            raise Unavailable("too many tokens were accepted offline", request_id=question.request_id) from None
        return _same(counts, question)

    def _find(self, token: str) -> Spent | None:
        # Usually nothing was ever accepted offline, and then nothing needs to be read.
        receipt_id = read_receipt_id(token) if len(self._spent) else None
        return self._spent.find(receipt_id) if receipt_id is not None else None


def _keys_of(source: str | Mapping[str, Any] | KeySource) -> KeySource:
    if isinstance(source, str):
        return FetchedKeys(source)
    return GivenKeys(source) if isinstance(source, Mapping) else source


def _same(spent: Spent, question: Question) -> Verified:
    if spent.verified.request_id != question.request_id:
        raise VerificationFailed("token_used", "The token was already redeemed.")
    return spent.verified


def _check_fits(claims: Claims, question: Question, *, site_key: str, now_s: float) -> None:
    if claims.site_key != site_key:
        raise VerificationFailed("invalid_token", "The token was issued for another site.")
    if claims.issued_s > now_s + SKEW_S:
        raise VerificationFailed("invalid_token", "The token was issued in the future; a clock is wrong.")
    if now_s >= claims.expires_s:
        raise VerificationFailed("expired_token", "The token has expired.")
    if claims.action != question.expected_action:
        raise VerificationFailed("action_mismatch", "The token was issued for another action.")
    if question.expected_origin is not None and claims.origin != _canonical(question.expected_origin):
        raise VerificationFailed("origin_mismatch", "The token was issued to another origin.")
    if question.content_digest is not None and claims.content_digest != question.content_digest:
        raise VerificationFailed("invalid_token", "The token was issued for other content.")


def _canonical(origin: str) -> str:
    """Return an origin as browsers write it: lower case, and without the port that its scheme has anyway."""
    scheme, _, host = origin.lower().partition("://")
    return f"{scheme}://{host.removesuffix({'http': ':80', 'https': ':443'}.get(scheme, ' '))}"


def _verified(claims: Claims, question: Question) -> Verified:
    is_browser = claims.kind == "browser"
    return Verified(
        action=claims.action,
        request_id=question.request_id,
        source="offline",
        site_key=claims.site_key,
        kind=claims.kind,
        decision_id=claims.decision_id,
        issued_at=datetime.fromtimestamp(claims.issued_s, UTC),
        expires_at=datetime.fromtimestamp(claims.expires_s, UTC),
        origin=claims.origin,
        visitor_id=claims.subject if is_browser else None,
        agent=None if is_browser else claims.subject,
        c_data=claims.c_data,
    )
