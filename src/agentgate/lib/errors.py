"""Every error of the service: one exception, and one table per surface with the response for each code.

Nine codes are in more than one table, most with different statuses, so each surface looks the code up. Rows keep the
specification's order. Each surface writes its errors into responses itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal

GatewayDecision = Literal["allow", "challenge", "block"]


class Refused(Exception):  # noqa: N818 - it is an answer, not a fault; "Error" would say otherwise
    """A request is rejected. The surface's table has the status and the default message; `extra` adds fields to the
    body."""

    def __init__(
        self, code: str, message: str | None = None, *, headers: Mapping[str, str] | None = None, **extra: Any
    ) -> None:
        # A further field of this name would overwrite the code that clients branch on.
        if "error" in extra:
            raise ValueError("the field `error` holds the code; give the further field another name")
        super().__init__(code)
        self._code = code
        self._message = message
        self._headers = MappingProxyType(dict(headers or {}))
        self._extra = MappingProxyType(extra)

    @property
    def code(self) -> str:
        return self._code

    @property
    def message(self) -> str | None:
        """What to tell people instead of the table's message, or None."""
        return self._message

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the response besides the headers of the table."""
        return self._headers

    @property
    def extra(self) -> Mapping[str, Any]:
        """Further fields of the body, such as `decisionId`."""
        return self._extra


@dataclass(frozen=True, slots=True)
class GatewayAnswer:
    """One of the gateway's responses for a reason."""

    decision: GatewayDecision
    status: int


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """The response for one code. `added` marks a code that is not in the specification.

    Only the gateway's rows have `answers`; their `status` is the status of the first, and they have no message because
    the gateway sends none.
    """

    code: str
    status: int
    message: str
    retry_after_s: int | None = field(default=None, kw_only=True)
    added: bool = field(default=False, kw_only=True)
    answers: tuple[GatewayAnswer, ...] = field(default=(), kw_only=True)

    def status_for(self, decision: GatewayDecision) -> int:
        """Return the status that goes with a gateway decision; a pair the row does not have is a bug (LookupError)."""
        for answer in self.answers:
            if answer.decision == decision:
                return answer.status
        raise LookupError(f"the reason {self.code} never comes with the decision {decision}")


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """The codes of one surface, in the specification's order."""

    name: str
    rows: Mapping[str, ErrorRow]

    def lookup(self, code: str) -> ErrorRow:
        """Return the row of a code. A missing one is a bug (LookupError), never a response."""
        row = self.rows.get(code)
        if row is None:
            raise LookupError(f"the {self.name} table has no code {code}")
        return row

    def __contains__(self, code: object) -> bool:
        return code in self.rows


def _added(*rows: ErrorRow) -> tuple[ErrorRow, ...]:
    return tuple(replace(row, added=True) for row in rows)


def _table(name: str, *rows: ErrorRow) -> ErrorTable:
    table = ErrorTable(name, MappingProxyType({row.code: row for row in rows}))
    if len(table.rows) != len(rows):
        raise ValueError(f"the {name} table has a code twice")
    return table


def _gateway(reason: str, *pairs: tuple[GatewayDecision, int], added: bool = False) -> ErrorRow:
    answers = tuple(GatewayAnswer(decision, status) for decision, status in pairs)
    return ErrorRow(reason, answers[0].status, "", answers=answers, added=added)


BROWSER = _table(
    "browser",
    ErrorRow("site_invalid", 400, "The site key is unknown or malformed. Use the key shown on the site's page."),
    ErrorRow("action_invalid", 400, "The action is not one of this site's actions. Names match [a-z0-9_]{1,64}."),
    ErrorRow("origin_denied", 403, "The page's origin is not in the site's allowedOrigins. Add it to the site."),
    ErrorRow("site_disabled", 403, "This site's account was deleted. Remove the check, or use an active site's key."),
    ErrorRow("rate_limited", 429, "Too many requests. Try again in a minute.", retry_after_s=60),
    ErrorRow("challenge_invalid", 400, "The challenge is unknown or was issued for another action. Request a new one."),
    ErrorRow("challenge_expired", 410, "The challenge is older than five minutes. Request a new one."),
    ErrorRow(
        "challenge_used", 409, "The challenge already produced a token. Use that token or request a new challenge."
    ),
    ErrorRow("too_many_attempts", 429, "The four attempts of this challenge are used up. Request a new one."),
    ErrorRow("challenge_failed", 403, "The check was not passed. Request a new challenge to try again."),
    *_added(
        ErrorRow("private_token_required", 401, "Send a private token from an issuer that the site trusts."),
        ErrorRow("private_token_invalid", 403, "The private token was not issued for this challenge."),
    ),
    ErrorRow(
        "schema_unsupported",
        400,
        "The SDK and AgentGate have different signal schemas. Load the SDK from this AgentGate.",
    ),
    ErrorRow("payload_too_large", 413, "The body is too large. Send at most 64 KiB."),
    ErrorRow("bad_request", 400, "The body is malformed. Send one JSON object with the documented fields."),
    ErrorRow("unavailable", 503, "The check is unavailable. Try again in 5 seconds.", retry_after_s=5),
)

SITEVERIFY = _table(
    "siteverify",
    ErrorRow("invalid_request", 400, "Send one JSON object of at most 4 KiB with token and expectedAction."),
    ErrorRow("invalid_credential", 401, "The secret is missing or invalid. Send an active secret of the token's site."),
    ErrorRow("invalid_token", 422, "The token was not issued for this site. Send it exactly as received."),
    ErrorRow("expired_token", 422, "The token has expired. Run the check again and send the new token immediately."),
    ErrorRow("action_mismatch", 422, "The token was issued for another action than expectedAction."),
    ErrorRow("origin_mismatch", 422, "The token was issued to another origin than expectedOrigin."),
    ErrorRow("token_used", 409, "The token was already redeemed. A retry must repeat the first call's requestId."),
    ErrorRow("unavailable", 503, "The token could not be checked. Retry with the same requestId."),
)

RECEIPTS = _table(
    "receipts",
    *_added(
        ErrorRow("invalid_request", 400, "Send one JSON object with receipt."),
        ErrorRow("unavailable", 503, "The receipt could not be checked. Try again in 5 seconds.", retry_after_s=5),
    ),
)

CONTENT = _table(
    "content",
    *_added(
        ErrorRow("invalid_request", 400, "Send one JSON object of at most 64 KiB with text."),
        ErrorRow(
            "invalid_credential",
            401,
            "The secret is missing or invalid. Send an active secret of the site in Authorization: Bearer.",
        ),
        ErrorRow("unavailable", 503, "The text could not be scored. Try again in 5 seconds.", retry_after_s=5),
    ),
)

BLOCK_FEED = _table(
    "block_feed",
    ErrorRow("invalid_request", 400, "ip must be one address.", added=True),
    ErrorRow(
        "invalid_credential",
        403,
        "The secret is missing or invalid. Send an active secret of the site in X-Api-Key.",
        added=True,
    ),
    ErrorRow("not_found", 404, "The site collects no addresses. Set blockFeed to true.", added=True),
    ErrorRow("unavailable", 503, "The feed could not be read. Try again in 5 seconds.", retry_after_s=5, added=True),
)

# The emulated services respond to everything with 200; `tokens.compat` translates each code.
COMPAT = _table(
    "compat",
    *_added(
        ErrorRow("invalid_request", 200, "Send secret and response as a form or as JSON, at most 4 KiB."),
        ErrorRow("missing_credential", 200, "secret is missing. Send an active secret of the token's site."),
        ErrorRow("invalid_credential", 200, "The secret is invalid. Send an active secret of the token's site."),
        ErrorRow(
            "site_mismatch", 200, "sitekey does not match the secret's site. Send that site's key or omit sitekey."
        ),
        ErrorRow(
            "test_mismatch", 200, "Use test tokens only with test secrets, and real tokens only with real secrets."
        ),
        ErrorRow("missing_token", 200, "response is missing. Send the token from the form."),
        ErrorRow(
            "invalid_token", 200, "The token was not issued for this site. Send it exactly as received in the form."
        ),
        ErrorRow("expired_token", 200, "The token has expired. Run the check again and send the new one."),
        ErrorRow("token_used", 200, "The token was already redeemed. Run the check again for a new one."),
        ErrorRow("unavailable", 200, "The token could not be checked. Try again in 5 seconds."),
    ),
)

GATEWAY = _table(
    "gateway",
    _gateway("allowed", ("allow", 204)),
    _gateway("monitor", ("allow", 204)),
    _gateway("receipt_required", ("challenge", 401)),
    _gateway("invalid_token", ("challenge", 401)),
    _gateway("expired_token", ("challenge", 401)),
    _gateway("token_used", ("challenge", 401)),
    _gateway("action_mismatch", ("challenge", 401)),
    _gateway("origin_mismatch", ("challenge", 401)),
    _gateway("visitor_mismatch", ("challenge", 401), added=True),
    _gateway("invalid_clearance", ("challenge", 401)),
    _gateway("expired_clearance", ("challenge", 401)),
    _gateway("agent_signature_invalid", ("block", 403)),
    _gateway("rate_limited", ("block", 403)),
    _gateway("payment_required", ("block", 403)),
    _gateway("payment_invalid", ("block", 403)),
    _gateway("agent_denied", ("block", 403)),
    _gateway("agent_unverified", ("challenge", 401), ("block", 403)),
    _gateway("policy", ("challenge", 401), ("block", 403)),
    _gateway("invalid_credential", ("block", 403)),
    _gateway("invalid_request", ("block", 403)),
    # Enforce mode fails closed; monitor mode never blocks a visitor.
    _gateway("service_unavailable", ("block", 503), ("allow", 204)),
)

CONSOLE = _table(
    "console",
    ErrorRow("unauthorized", 401, "Not signed in, or the key is wrong. Sign in or send a valid key."),
    ErrorRow("session_expired", 401, "The session has ended. Sign in again."),
    ErrorRow("invalid_credentials", 401, "The email address or the password is wrong."),
    ErrorRow("mfa_required", 401, "A two-factor code is required. Send it to /v1/account/login/mfa."),
    ErrorRow("invalid_code", 401, "The code is wrong or was already used. Send a fresh code or a recovery code."),
    ErrorRow("invalid_token", 401, "The API token is invalid, revoked or expired. Create a new one in the console."),
    ErrorRow("csrf", 403, "X-CSRF-Token is missing or wrong. Send the csrfToken of the session response."),
    ErrorRow("forbidden", 403, "Your role or token lacks the required permission. Ask an owner or admin for it."),
    ErrorRow("account_suspended", 403, "This account is suspended. Contact the operator to have it reactivated."),
    ErrorRow("user_suspended", 403, "This user is suspended. Contact the operator to have it reactivated."),
    ErrorRow("no_account", 403, "You are not a member of any account. Ask for an invitation or create an account."),
    ErrorRow("token_not_allowed", 403, "API tokens work only under /v1/console. Sign in for everything else."),
    ErrorRow("mfa_setup_required", 403, "This account requires two-factor authentication. Set it up first."),
    ErrorRow("invalid_password", 403, "The current password is wrong. Enter the password you signed in with."),
    ErrorRow("cross_origin", 403, "The request came from another site. Send it from the service's own pages."),
    ErrorRow("browser_check_failed", 403, "The browser check was not passed. Reload the form and try again."),
    ErrorRow("not_found", 404, "Not found. Check the path and the ID."),
    ErrorRow("site_not_found", 404, "Site not found. Check the site key."),
    ErrorRow("invalid_link", 404, "The link is invalid, used or expired. Request a new one."),
    ErrorRow("not_member", 404, "You are not a member of this account. Choose an account listed in your session."),
    ErrorRow("invalid_request", 400, "The request is malformed. Send one JSON object with the documented fields."),
    ErrorRow("invalid_site", 400, "A site field is missing or malformed. Compare it with the documented format."),
    ErrorRow("invalid_filter", 400, "A filter has an unknown value. Use one of the documented values."),
    ErrorRow("invalid_limit", 400, "limit must be a whole number within this list's bounds."),
    ErrorRow("invalid_range", 400, "The time range is malformed or too long. from must be earlier than to."),
    ErrorRow("invalid_cursor", 400, "The cursor is not from this list. Send the nextCursor of the previous page."),
    ErrorRow("forbidden_field", 400, "The request contains a field that only the server sets. Omit it."),
    ErrorRow("immutable_field", 400, "The request contains a field that cannot be changed. Omit it."),
    ErrorRow("weak_password", 400, "The password is too weak. Use 12 to 128 characters and avoid common passwords."),
    ErrorRow("confirm_mismatch", 400, "The confirmation does not match. Enter the account name exactly."),
    ErrorRow("origin_limit", 400, "A site may have at most 10 allowed origins. Remove one first."),
    ErrorRow("site_limit", 409, "The account has reached its limit of sites. Ask the operator to raise it."),
    ErrorRow("credential_limit", 409, "The site has reached its limit of active secrets. Revoke one first."),
    ErrorRow("member_limit", 409, "The account has reached its limit of members. Remove one first."),
    ErrorRow("token_limit", 409, "The account has reached its limit of active API tokens. Revoke one first."),
    ErrorRow("account_limit", 409, "You have reached the limit of accounts you may own. Transfer or delete one first."),
    ErrorRow("already_member", 409, "This person is already a member. Change the role instead."),
    ErrorRow("already_active", 409, "This member has already set a password. Send a password reset link instead."),
    ErrorRow("last_owner", 409, "The account needs at least one owner. Promote another member to owner first."),
    ErrorRow("sites_enforcing", 409, "A site is in enforce mode. Switch every site to monitor mode before deleting."),
    ErrorRow("protected_account", 409, "This belongs to AgentGate itself and cannot be moved, suspended or deleted."),
    ErrorRow("site_key_taken", 409, "This site key already exists. Choose another or omit siteKey."),
    ErrorRow("revision_conflict", 409, "The rules have changed since you loaded them. Load them again, then save."),
    ErrorRow(
        "mfa_already_enabled", 409, "Two-factor authentication is already on. Turn it off before setting it up again."
    ),
    ErrorRow("mfa_not_enabled", 409, "Two-factor authentication is already off."),
    ErrorRow("mfa_not_pending", 409, "No two-factor setup is in progress. Start the setup first."),
    ErrorRow(
        "mfa_required_by_account",
        409,
        "One of your accounts requires two-factor authentication. You cannot turn it off.",
    ),
    ErrorRow("rate_limited", 429, "Too many attempts. Try again after the time in Retry-After."),
    ErrorRow("store_unavailable", 503, "The database is unavailable. Try again in 5 seconds.", retry_after_s=5),
    *_added(
        ErrorRow("invalid_state", 409, "The object's current state does not allow this. Load the object again."),
        ErrorRow(
            "backtest_refused", 409, "The rules would change more decisions about humans than maxHumanFlips allows."
        ),
        ErrorRow("confirmation_required", 409, "The rules have warnings. To save them anyway, send acknowledge: true."),
        ErrorRow("oidc_failed", 401, "The identity provider did not confirm who you are. Start the sign-in again."),
        ErrorRow(
            "oidc_required", 403, "Your account allows sign-in with its identity provider only. Sign in with that."
        ),
    ),
)

# The specification gives this surface statuses and no codes, so every code here is an addition.
AGENTS = _table(
    "agents",
    *_added(
        ErrorRow("invalid_request", 400, "The body is malformed. Send one JSON object of at most 64 KiB."),
        ErrorRow("site_invalid", 400, "The site key is unknown or malformed. Use a key from the site's tools."),
        ErrorRow("action_invalid", 400, "The site does not have this action. Use an action from its tools."),
        ErrorRow("payment_invalid", 400, "The price offer must be a single signed offer such as USD 0.01."),
        ErrorRow("agent_signature_invalid", 401, "The signature is invalid. Sign a new request."),
        ErrorRow(
            "agent_unverified",
            401,
            "The signature or agent key is missing or invalid. Sign as described in Accept-Signature.",
        ),
        ErrorRow("payment_required", 402, "This action has a price. Offer it in a signed crawler-price header."),
        ErrorRow("agent_denied", 403, "The site's policy does not allow this action for this agent."),
        ErrorRow(
            "challenge_required", 403, "A person must approve this action. Follow the handoff if the response has one."
        ),
        ErrorRow("policy", 403, "The site's rules do not allow this request."),
        ErrorRow("not_found", 404, "Not found for this caller. Check the path and the ID."),
        ErrorRow("submission_conflict", 409, "This id was already used for different content. Choose a new id."),
        ErrorRow("handoff_redeemed", 410, "The handoff's receipt was already redeemed. Submit again."),
        ErrorRow("handoff_expired", 410, "The handoff has expired. Submit again to get a new one."),
        ErrorRow("rate_limited", 429, "The agent exceeded its quota. Try again in a minute.", retry_after_s=60),
        ErrorRow("unavailable", 503, "AgentGate cannot decide right now. Retry with the same id."),
    ),
)

TABLES = (BROWSER, SITEVERIFY, RECEIPTS, COMPAT, GATEWAY, CONSOLE, AGENTS)


class CrawlerError(StrEnum):
    """The problem with a price offer, as in the `crawler-error` header."""

    MISSING_CRAWLER_PRICE = "MissingCrawlerPrice"
    INVALID_CRAWLER_EXACT_PRICE = "InvalidCrawlerExactPrice"
    INVALID_CRAWLER_MAX_PRICE = "InvalidCrawlerMaxPrice"
    INVALID_CRAWLER_PRICE_VALUE = "InvalidCrawlerPriceValue"
    CONFLICTING_PRICE_HEADERS = "ConflictingPriceHeaders"
    STRONG_AUTH_REQUIRED = "StrongAuthRequired"


CRAWLER_ERROR_STATUSES: Mapping[CrawlerError, tuple[int, ...]] = MappingProxyType(
    {
        CrawlerError.MISSING_CRAWLER_PRICE: (402,),
        CrawlerError.INVALID_CRAWLER_EXACT_PRICE: (402,),
        CrawlerError.INVALID_CRAWLER_MAX_PRICE: (402,),
        CrawlerError.INVALID_CRAWLER_PRICE_VALUE: (400,),
        CrawlerError.CONFLICTING_PRICE_HEADERS: (400,),
        CrawlerError.STRONG_AUTH_REQUIRED: (400, 402),
    }
)
