"""Each row of the specification's Limits table against the constants of `limits`: every number, and its unit."""

import re

import pytest

from agentgate.lib import limits
from tests.contract.additions import ADDED_LIMITS
from tests.contract.spec import limits as limit_rows
from tests.contract.spec import spec_text

# Row -> the constants of the numbers in its text, in the text's order; `/` divides into the unit the text uses.
CONSTANTS = {
    "Sites per account (default)": ("SITES_PER_ACCOUNT",),
    "Live backend secrets per site (default)": ("LIVE_SECRETS_PER_SITE",),
    "Members per account (default)": ("MEMBERS_PER_ACCOUNT",),
    "Live API tokens per account (default)": ("LIVE_API_TOKENS_PER_ACCOUNT",),
    "Accounts a user may own": ("ACCOUNTS_OWNED_PER_USER",),
    "Allowed origins per console site": ("ORIGINS_PER_CONSOLE_SITE",),
    "Credential name length": ("CREDENTIAL_NAME_CHARACTERS",),
    "Operator name length": ("OPERATOR_NAME_CHARACTERS",),
    "Credential rotation overlap": (
        "OVERLAP_SECONDS.least",
        "OVERLAP_SECONDS.most",
        "OVERLAP_SECONDS.default",
        "OVERLAP_SECONDS.most/86400",
    ),
    "Console session": ("CONSOLE_SESSION_HOURS", "CONSOLE_SESSION_IDLE_HOURS"),
    "2FA pre-session": ("MFA_PRE_SESSION_MINUTES",),
    "Recovery codes issued on enabling 2FA": ("RECOVERY_CODES",),
    "Invite link": ("INVITE_LINK_DAYS",),
    "Password reset link": ("PASSWORD_RESET_LINK_HOURS",),
    "Deleted account data purge": ("DELETED_ACCOUNT_PURGE_DAYS",),
    "Metrics range": ("METRICS_RANGE_DEFAULT_DAYS", "METRICS_RANGE_MOST_DAYS"),
    "Analytics range": ("ANALYTICS_RANGE_DEFAULT_HOURS", "ANALYTICS_RANGE_MOST_DAYS", "HOURLY_BUCKETS_MOST_HOURS"),
    "Visitors and decisions range": ("TRAFFIC_RANGE_DEFAULT_HOURS", "TRAFFIC_RANGE_MOST_DAYS"),
    "Visitor detail": ("VISITOR_DETAIL_RANGE_DAYS", "VISITOR_DETAIL_DECISIONS"),
    "Page size `limit`": ("PAGE_SIZE.least", "PAGE_SIZE.most", "PAGE_SIZE.default"),
    "Site changes `limit`": ("CHANGES_LIMIT.least", "CHANGES_LIMIT.most", "CHANGES_LIMIT.default"),
    "Labels `limit`": ("LABELS_LIMIT.least", "LABELS_LIMIT.most", "LABELS_LIMIT.default"),
    "Access requests, outbox `limit`": (
        "ACCESS_REQUESTS_LIMIT.least",
        "ACCESS_REQUESTS_LIMIT.most",
        "ACCESS_REQUESTS_LIMIT.default",
    ),
    "Customers `limit`": (
        "CUSTOMERS_LIMIT.least",
        "CUSTOMERS_LIMIT.most",
        "CUSTOMERS_LIMIT.default",
        "CUSTOMERS_QUERY_CHARACTERS",
    ),
    "Docs feedback `days`": ("DOCS_FEEDBACK_DAYS.least", "DOCS_FEEDBACK_DAYS.most", "DOCS_FEEDBACK_DAYS.default"),
    "Suspend reason": (
        "SUSPEND_ACCOUNT_REASON_CHARACTERS.least",
        "SUSPEND_ACCOUNT_REASON_CHARACTERS.most",
        "SUSPEND_USER_REASON_CHARACTERS.most",
    ),
    "Latency percentile samples": ("LATENCY_SAMPLES",),
    "Feature capture `retentionDays`": ("FEATURE_CAPTURE_LEAST_DAYS",),
    "Browser challenge lifetime": ("CHALLENGE_LIFETIME_MINUTES", "VERIFY_ATTEMPTS_PER_CHALLENGE"),
    "Browser rate limit": (
        "CHALLENGES_PER_MINUTE_PER_ADDRESS",
        "VERIFICATIONS_PER_MINUTE_PER_ADDRESS",
        "BROWSER_RETRY_AFTER_S",
    ),
    "Siteverify body": (
        "SITEVERIFY_BODY_BYTES/1024",
        "TOKEN_LIFETIME_DEFAULT_MINUTES",
        "REQUEST_ID_CHARACTERS.least",
        "REQUEST_ID_CHARACTERS.most",
    ),
    "SDK timeouts": ("SDK_TIMEOUT_S", "SDK_CHECK_TIMEOUT_MINUTES"),
    "Agent quota": ("status 429", "AGENT_QUOTA_RETRY_AFTER_S"),
    "Health thresholds": (
        "SITEVERIFY_ERRORS_LEAST_FAILURES",
        "SITEVERIFY_ERRORS_LEAST_PERCENT",
        "SITEVERIFY_MISSING_SHARE",
        "SITEVERIFY_MISSING_LEAST_TOKENS",
    ),
}

# The same value under a second name, for the second list that the row covers.
SECOND_NAMES = {"OUTBOX_LIMIT": "ACCESS_REQUESTS_LIMIT"}

# The unit behind a number -> the word that the constant's name must hold.
UNITS = {
    "hour": "HOURS",
    "hours": "HOURS",
    "minutes": "MINUTES",
    "days": "DAYS",
    "s": "_S",
    "characters": "CHARACTERS",
    "failures": "FAILURES",
    "tokens": "TOKENS",
    "newest decisions": "DECISIONS",
    "verify attempts": "ATTEMPTS",
    "challenges": "CHALLENGES",
    "verifications": "VERIFICATIONS",
}


def numbers(text):
    """Return the numbers of a text in their order; a half is one."""
    return [0.5 if word == "half" else int(word) for word in re.findall(r"(?<!\w)(?:\d+|half)\b", text)]


def valued(place):
    """Return the number at a place such as `PAGE_SIZE.most` or `SITEVERIFY_BODY_BYTES/1024`."""
    if place.startswith("status "):
        return int(place.removeprefix("status "))
    path, _, divisor = place.partition("/")
    name, _, attribute = path.partition(".")
    value = getattr(limits, name)
    value = getattr(value, attribute) if attribute else value
    return value // int(divisor) if divisor else value


def test_every_row_of_the_table_has_its_constants_and_no_other_row_is_named():
    assert list(CONSTANTS) == list(limit_rows(spec_text()))


@pytest.mark.parametrize("row", CONSTANTS)
def test_the_constants_of_a_row_are_the_numbers_of_its_text(row):
    assert [valued(place) for place in CONSTANTS[row]] == numbers(limit_rows(spec_text())[row])


@pytest.mark.parametrize("row", CONSTANTS)
def test_the_names_of_a_row_hold_the_units_of_its_text(row):
    text = limit_rows(spec_text())[row]
    behind = [text[match.end() :].strip() for match in re.finditer(r"(?<!\w)(?:\d+|half)\b", text)]

    for place, following in zip(CONSTANTS[row], behind, strict=True):
        unit = next((word for word in UNITS if re.match(rf"{word}\b", following)), None)
        assert unit is None or "/" in place or UNITS[unit] in place, (place, following)


def constant_names():
    return [name for name in vars(limits) if name.isupper()]


def test_every_constant_belongs_to_a_row_or_is_a_listed_addition():
    of_rows = {re.split(r"[./]", place)[0] for places in CONSTANTS.values() for place in places}

    assert sorted(set(constant_names()) - of_rows - set(SECOND_NAMES)) == sorted(ADDED_LIMITS)


def test_the_constants_of_the_rows_come_first_and_in_the_order_of_the_table():
    of_rows = [re.split(r"[./]", place)[0] for places in CONSTANTS.values() for place in places]
    expected = [name for name in dict.fromkeys(of_rows) if name.isupper()]
    found = [name for name in constant_names() if name not in SECOND_NAMES]

    assert found[: len(expected)] == expected


def test_a_second_name_has_the_same_value():
    assert all(getattr(limits, second) == getattr(limits, first) for second, first in SECOND_NAMES.items())


def test_every_default_lies_within_its_bounds():
    found = [value for value in vars(limits).values() if isinstance(value, limits.Bounds)]

    assert len(found) == 11
    assert [bounds for bounds in found if not bounds.least <= bounds.default <= bounds.most] == []
