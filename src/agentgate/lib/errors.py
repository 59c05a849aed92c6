"""Every refusal of the service: one exception, and one table per surface that says how a code is answered.

Nine codes are in more than one table, most with different statuses, so the surface that answers looks the code up.
Rows keep the specification's order. How a refusal is written into a response is not here but beside each surface.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal

GatewayDecision = Literal["allow", "challenge", "block"]


class Refused(Exception):  # noqa: N818 - it is an answer, not a fault; "Error" would say otherwise
    """A request is refused. The surface's table gives status and default message; `extra` adds fields to the body."""

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
        """Headers the answer carries besides those of the table."""
        return self._headers

    @property
    def extra(self) -> Mapping[str, Any]:
        """Further fields of the body, such as `decisionId`."""
        return self._extra


@dataclass(frozen=True, slots=True)
class GatewayAnswer:
    """One way the gateway answers a reason."""

    decision: GatewayDecision
    status: int


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """How one code is answered. `added` marks a code that the specification does not name.

    Only the gateway's rows have `answers`; their `status` is that of the first, and they have no message because the
    gateway's body carries none.
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
        """Return the row of a code. A missing one is a bug (LookupError), never an answer."""
        row = self.rows.get(code)
        if row is None:
            raise LookupError(f"the {self.name} table has no code {code}")
        return row

    def __contains__(self, code: object) -> bool:
        return code in self.rows


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
    ErrorRow("origin_denied", 403, "This page's origin is not among the site's allowed origins. Add it to the site."),
    ErrorRow("site_disabled", 403, "This site's account was deleted. Remove the check, or use an active site's key."),
    ErrorRow("rate_limited", 429, "Too many requests. Try again in a minute.", retry_after_s=60),
    ErrorRow("challenge_invalid", 400, "The challenge is unknown or was issued for another action. Ask for a new one."),
    ErrorRow("challenge_expired", 410, "The challenge is older than five minutes. Ask for a new one."),
    ErrorRow("challenge_used", 409, "The challenge already produced a token. Use that token or ask for a new one."),
    ErrorRow("too_many_attempts", 429, "The four attempts of this challenge are used up. Ask for a new one."),
    ErrorRow("challenge_failed", 403, "The check was not passed. Ask for a new challenge to try again."),
    ErrorRow("private_token_required", 401, "Send a private token of an issuer that the site trusts.", added=True),
    ErrorRow("private_token_invalid", 403, "The private token is not one for this challenge.", added=True),
    ErrorRow("schema_unsupported", 400, "The SDK's signal schema is not the service's. Load it from this service."),
    ErrorRow("payload_too_large", 413, "The body is too large. Send at most 64 KiB."),
    ErrorRow("bad_request", 400, "The body is malformed. Send one JSON object with the documented fields."),
    ErrorRow("unavailable", 503, "The check cannot be made right now. Try again in 5 seconds.", retry_after_s=5),
)

SITEVERIFY = _table(
    "siteverify",
    ErrorRow("invalid_request", 400, "Send one JSON object of at most 4 KiB with token and expectedAction."),
    ErrorRow("invalid_credential", 401, "The secret is missing or not valid. Send a live secret of the token's site."),
    ErrorRow("invalid_token", 422, "The token is not one issued for the site. Send it exactly as it was received."),
    ErrorRow("expired_token", 422, "The token has expired. Run the check again and send the new token at once."),
    ErrorRow("action_mismatch", 422, "The token was issued for another action than expectedAction."),
    ErrorRow("origin_mismatch", 422, "The token was issued to another origin than expectedOrigin."),
    ErrorRow("token_used", 409, "The token was already redeemed. A retry must repeat the first call's requestId."),
    ErrorRow("unavailable", 503, "The token could not be checked. Retry with the same requestId."),
)

RECEIPTS = _table(
    "receipts",
    ErrorRow("invalid_request", 400, "Send one JSON object with receipt.", added=True),
    ErrorRow(
        "unavailable", 503, "The receipt could not be checked. Try again in 5 seconds.", retry_after_s=5, added=True
    ),
)

# The services whose calls are understood answer everything with 200; `tokens.compat` gives each code its name there.
COMPAT = _table(
    "compat",
    ErrorRow("invalid_request", 200, "Send secret and response as a form or as JSON, at most 4 KiB.", added=True),
    ErrorRow("missing_credential", 200, "secret is missing. Send a live secret of the token's site.", added=True),
    ErrorRow("invalid_credential", 200, "The secret is not valid. Send a live secret of the token's site.", added=True),
    ErrorRow("site_mismatch", 200, "sitekey is not the site of the secret. Send that site's key, or none.", added=True),
    ErrorRow("test_mismatch", 200, "Use test tokens and test secrets together only.", added=True),
    ErrorRow("missing_token", 200, "response is missing. Send the token that the form brought.", added=True),
    ErrorRow("invalid_token", 200, "The token is not one issued for the site. Send it exactly as it came.", added=True),
    ErrorRow("expired_token", 200, "The token has expired. Run the check again and send the new one.", added=True),
    ErrorRow("token_used", 200, "The token was already redeemed. Run the check again for a new one.", added=True),
    ErrorRow("unavailable", 200, "The token could not be checked. Try again in 5 seconds.", added=True),
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
    ErrorRow("invalid_credentials", 401, "The e-mail address or the password is wrong."),
    ErrorRow("mfa_required", 401, "A two-factor code is needed. Send it to /v1/account/login/mfa."),
    ErrorRow("invalid_code", 401, "The code is wrong or was already used. Send a fresh code or a recovery code."),
    ErrorRow("invalid_token", 401, "The API token is invalid, revoked or expired. Create a new one in the console."),
    ErrorRow("csrf", 403, "X-CSRF-Token is missing or wrong. Send the csrfToken of the session's answer."),
    ErrorRow("forbidden", 403, "The role or token lacks a permission this needs. Ask an owner or admin for it."),
    ErrorRow("account_suspended", 403, "This account is suspended. Contact the operator to have it reactivated."),
    ErrorRow("user_suspended", 403, "This user is suspended. Contact the operator to have it reactivated."),
    ErrorRow("no_account", 403, "You belong to no account. Ask to be invited, or create an account."),
    ErrorRow("token_not_allowed", 403, "API tokens work only under /v1/console. Sign in for everything else."),
    ErrorRow("mfa_setup_required", 403, "This account requires two-factor authentication. Set it up first."),
    ErrorRow("invalid_password", 403, "The current password is wrong. Type the password you signed in with."),
    ErrorRow("cross_origin", 403, "The request came from another site. Send it from the service's own pages."),
    ErrorRow("browser_check_failed", 403, "The browser check was not passed. Reload the form and try again."),
    ErrorRow("not_found", 404, "There is no such object here. Check the path and the ID."),
    ErrorRow("site_not_found", 404, "There is no such site here. Check the site key."),
    ErrorRow("invalid_link", 404, "The link is invalid, used or expired. Ask for a new one."),
    ErrorRow("not_member", 404, "You are not a member of that account. Choose one that your session lists."),
    ErrorRow("invalid_request", 400, "The request is malformed. Send one JSON object with the documented fields."),
    ErrorRow("invalid_site", 400, "A site value is missing or malformed. Compare it with the documented form."),
    ErrorRow("invalid_filter", 400, "A filter has a value it does not know. Use one of the documented values."),
    ErrorRow("invalid_limit", 400, "limit is not a whole number within this list's bounds."),
    ErrorRow("invalid_range", 400, "The time range is malformed or too long. from must lie before to."),
    ErrorRow("invalid_cursor", 400, "The cursor is not from this list. Send the nextCursor of the page before."),
    ErrorRow("forbidden_field", 400, "A field that only the server sets was sent. Leave it out."),
    ErrorRow("immutable_field", 400, "A field that cannot be changed was sent. Leave it out."),
    ErrorRow("weak_password", 400, "The password is too easy to guess. Use 12 to 128 characters, no common password."),
    ErrorRow("confirm_mismatch", 400, "The confirmation differs. Type the account name exactly."),
    ErrorRow("origin_limit", 400, "A site may have at most 10 allowed origins. Remove one first."),
    ErrorRow("site_limit", 409, "The account has as many sites as it may have. Ask the operator for more."),
    ErrorRow("credential_limit", 409, "The site has as many live secrets as it may have. Revoke one first."),
    ErrorRow("member_limit", 409, "The account has as many members as it may have. Remove one first."),
    ErrorRow("token_limit", 409, "The account has as many live API tokens as it may have. Revoke one first."),
    ErrorRow("account_limit", 409, "You own as many accounts as a user may own. Transfer or delete one first."),
    ErrorRow("already_member", 409, "This person is already a member. Change the role instead."),
    ErrorRow("already_active", 409, "This member has already set a password. A reset link is what would help."),
    ErrorRow("last_owner", 409, "The account must keep an owner. Make another member owner first."),
    ErrorRow("sites_enforcing", 409, "A site is in enforce mode. Switch every site to monitor before deleting."),
    ErrorRow("protected_account", 409, "This is the service's own and cannot be moved, suspended or deleted."),
    ErrorRow("site_key_taken", 409, "This site key exists already. Choose another, or leave it out."),
    ErrorRow("revision_conflict", 409, "The rules changed since they were loaded. Load them again, then save."),
    ErrorRow("mfa_already_enabled", 409, "Two-factor authentication is already on. Turn it off to set it up anew."),
    ErrorRow("mfa_not_enabled", 409, "Two-factor authentication is not on. There is nothing to turn off."),
    ErrorRow("mfa_not_pending", 409, "No two-factor setup is under way. Start the setup first."),
    ErrorRow("mfa_required_by_account", 409, "An account of yours requires two-factor authentication. It stays on."),
    ErrorRow("rate_limited", 429, "Too many attempts. Try again after the time in Retry-After."),
    ErrorRow("store_unavailable", 503, "The database did not answer. Try again in 5 seconds.", retry_after_s=5),
    ErrorRow("invalid_state", 409, "The present state does not allow this step. Load the object again.", added=True),
    ErrorRow("backtest_refused", 409, "The rules would change more decisions about people than allowed.", added=True),
    ErrorRow("confirmation_required", 409, "Check the warnings. To save the rules, send acknowledge.", added=True),
)

# The specification gives this surface statuses and no codes, so every code here is an addition.
AGENTS = _table(
    "agents",
    ErrorRow("invalid_request", 400, "The body is malformed. Send one JSON object of at most 64 KiB.", added=True),
    ErrorRow("site_invalid", 400, "The site key is unknown or malformed. Use a key from the site's tools.", added=True),
    ErrorRow("action_invalid", 400, "The action is not one of this site's. Use one from its tools.", added=True),
    ErrorRow("payment_invalid", 400, "The price offer is not one signed offer such as USD 0.01.", added=True),
    ErrorRow("agent_signature_invalid", 401, "The signature did not verify. Sign a fresh request.", added=True),
    ErrorRow("agent_unverified", 401, "No valid signature or agent key. Sign as Accept-Signature asks.", added=True),
    ErrorRow("payment_required", 402, "This action has a price. Offer the price in crawler-price, signed.", added=True),
    ErrorRow("agent_denied", 403, "The site's policy does not permit this agent this action.", added=True),
    ErrorRow("challenge_required", 403, "A person must confirm this. Follow the handoff if there is one.", added=True),
    ErrorRow("policy", 403, "The site's rules do not permit this request.", added=True),
    ErrorRow("not_found", 404, "There is no such object for this caller. Check the path and the ID.", added=True),
    ErrorRow("submission_conflict", 409, "This id was used for other content. Choose a new id.", added=True),
    ErrorRow("handoff_redeemed", 410, "The handoff's receipt was already redeemed. Submit again.", added=True),
    ErrorRow("handoff_expired", 410, "The handoff has expired. Submit again for a new one.", added=True),
    ErrorRow("rate_limited", 429, "Over this agent's quota. Try again in a minute.", retry_after_s=60, added=True),
    ErrorRow("unavailable", 503, "The service cannot decide right now. Retry with the same id.", added=True),
)

TABLES = (BROWSER, SITEVERIFY, RECEIPTS, COMPAT, GATEWAY, CONSOLE, AGENTS)


class CrawlerError(StrEnum):
    """What is wrong with a price offer, as the `crawler-error` header says it."""

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
