"""The specification's Limits table as named constants, in its order, then the numbers of the contract.

Each name ends in its unit. Values that an operator may set (retention, token lifetime) have their default in
`settings`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most a value may be, and what it is when absent."""

    least: int
    most: int
    default: int


@dataclass(frozen=True, slots=True)
class Lengths:
    """The least and the most characters a text may have."""

    least: int
    most: int


# Limits of one account, site or user. An operator can change the first four, and the origins, per account.
SITES_PER_ACCOUNT = 5
LIVE_SECRETS_PER_SITE = 3
MEMBERS_PER_ACCOUNT = 10
LIVE_API_TOKENS_PER_ACCOUNT = 25
ACCOUNTS_OWNED_PER_USER = 3
ORIGINS_PER_CONSOLE_SITE = 10
CREDENTIAL_NAME_CHARACTERS = 100
OPERATOR_NAME_CHARACTERS = 64
OVERLAP_SECONDS = Bounds(0, 604_800, default=86_400)

# Sessions, links and what is single use.
CONSOLE_SESSION_HOURS = 12
CONSOLE_SESSION_IDLE_HOURS = 2
MFA_PRE_SESSION_MINUTES = 5
RECOVERY_CODES = 10
INVITE_LINK_DAYS = 7
PASSWORD_RESET_LINK_HOURS = 1
DELETED_ACCOUNT_PURGE_DAYS = 30

# Time ranges of the read models.
METRICS_RANGE_DEFAULT_DAYS = 7
METRICS_RANGE_MOST_DAYS = 92
ANALYTICS_RANGE_DEFAULT_HOURS = 24
ANALYTICS_RANGE_MOST_DAYS = 92
HOURLY_BUCKETS_MOST_HOURS = 48
TRAFFIC_RANGE_DEFAULT_HOURS = 24
TRAFFIC_RANGE_MOST_DAYS = 31
VISITOR_DETAIL_RANGE_DAYS = 31
VISITOR_DETAIL_DECISIONS = 50

# Lists.
PAGE_SIZE = Bounds(1, 200, default=50)
CHANGES_LIMIT = Bounds(1, 500, default=50)
LABELS_LIMIT = Bounds(1, 1000, default=100)
ACCESS_REQUESTS_LIMIT = Bounds(1, 500, default=100)
OUTBOX_LIMIT = ACCESS_REQUESTS_LIMIT
CUSTOMERS_LIMIT = Bounds(1, 1000, default=200)
CUSTOMERS_QUERY_CHARACTERS = 200
DOCS_FEEDBACK_DAYS = Bounds(1, 3650, default=30)
SUSPEND_ACCOUNT_REASON_CHARACTERS = Lengths(1, 500)
SUSPEND_USER_REASON_CHARACTERS = Lengths(0, 500)
LATENCY_SAMPLES = 5000
FEATURE_CAPTURE_LEAST_DAYS = 1

# The browser check, siteverify, the SDK and agents.
CHALLENGE_LIFETIME_MINUTES = 5
VERIFY_ATTEMPTS_PER_CHALLENGE = 4
CHALLENGES_PER_MINUTE_PER_ADDRESS = 60
VERIFICATIONS_PER_MINUTE_PER_ADDRESS = 120
BROWSER_RETRY_AFTER_S = 60
SITEVERIFY_BODY_BYTES = 4 * 1024
TOKEN_LIFETIME_DEFAULT_MINUTES = 2
REQUEST_ID_CHARACTERS = Lengths(1, 128)
SDK_TIMEOUT_S = 30
SDK_CHECK_TIMEOUT_MINUTES = 5
AGENT_QUOTA_RETRY_AFTER_S = 60

# Thresholds of the site health checks.
SITEVERIFY_ERRORS_LEAST_FAILURES = 5
SITEVERIFY_ERRORS_LEAST_PERCENT = 20
SITEVERIFY_MISSING_SHARE = 0.5
SITEVERIFY_MISSING_LEAST_TOKENS = 10

# ---- The contract's numbers, by its sections. ----

# 1: secrets.
OPERATOR_KEY_LEAST_CHARACTERS = 24
PASSWORD_CHARACTERS = Lengths(12, 128)
PASSKEYS_PER_USER = 10

# 3: bodies.
BODY_BYTES = 256 * 1024
RULES_BODY_BYTES = 2 * 1024 * 1024
MODEL_BODY_BYTES = 2 * 1024 * 1024
STORE_UNAVAILABLE_RETRY_AFTER_S = 5

# Of a page of sites or users; without a limit, these lists are complete.
LIST_PAGE = Bounds(1, 1000, default=1000)
# 4: accounts and sign-in. Failures count per address, per email address from it, and per known device. Failures per
# email address and per minute over all addresses indicate an attack, which delays unknown devices.
CUSTOMER_DETAIL_AUDIT_EVENTS = 20
LOGIN_FAILURES_PER_ADDRESS = 10
LOGIN_FAILURES_PER_SOURCE = 5
LOGIN_WINDOW_MINUTES = 15
LOGIN_FAILURES_PER_EMAIL = 20
LOGIN_FAILURES_PER_MINUTE = 100
LOGIN_WAIT_SECONDS = 60
CODE_ATTEMPTS_PER_EMAIL = 10

# 5 and 6: labels and analytics.
LABEL_NOTE_CHARACTERS = 500
ANALYTICS_TOP_ENTRIES = 10

# 7: the browser check.
BROWSER_BODY_BYTES = 64 * 1024
CUSTOM_DATA_CHARACTERS = 255
# The specification requires a limit per site without its value. A program is read once or twice a check.
CHALLENGES_PER_MINUTE_PER_SITE = 6_000
VERIFICATIONS_PER_MINUTE_PER_SITE = 6_000
INSTRUMENTS_PER_MINUTE_PER_ADDRESS = 180

# 8: tokens, receipts, clearance.
RECEIPT_CHARACTERS = 2048
REDEMPTION_KEPT_HOURS = 24
PUBLISHED_KEYS_MAX_AGE_S = 300

# 9: the gateway. A person who reads quickly asks for a few hundred things a minute, pictures included.
GATEWAY_REQUESTS_PER_MINUTE = 1_200
# A challenged form of at most this size is sent again after the check.
CARRIED_FORM_BYTES = 64 * 1024

# 10: agents.
SIGNATURE_SKEW_S = 60
GATEWAY_SIGNATURE_WINDOW_HOURS = 24
SUBMIT_SIGNATURE_WINDOW_S = 600
DIRECTORY_KEYS = 20
SUBMIT_BODY_BYTES = 64 * 1024
# How long the same submission gets the same response, and how long the ledger is kept.
SUBMISSION_KEPT_DAYS = 7
CHARGES_KEPT_DAYS = 800
AGENT_QUOTA_DEFAULT_PER_MINUTE = 600
AGENT_QUOTA_MOST_PER_MINUTE = 1_000_000
AGENT_POLICY_AGENTS = 200
AGENT_POLICY_DIRECTORIES = 10
AGENT_POLICY_ACTIONS = 64
AGENT_POLICY_TOOLS = 50
HANDOFF_POLL_INTERVAL_S = 5
HANDOFF_LIFETIME_S = 600
# An agent polls a handoff every five seconds; the rest is for several at once behind one address.
HANDOFF_POLLS_PER_MINUTE_PER_ADDRESS = 600
HANDOFF_PAGES_PER_MINUTE_PER_ADDRESS = 60
AGENT_GRANT_USES = 100
AGENT_GRANT_HOURS = 30 * 24
AGENT_TOOLS_MAX_AGE_S = 300

# 11: rules.
RULES_PER_SET = 200
RULE_SET_TEXT_BYTES = 64 * 1024
RULE_SET_DEPTH = 8
# Each is compared with every new header, path or address.
GLOBS_PER_SET = 500
NETWORKS_PER_SET = 2_000
LIST_ENTRIES_PER_SITE = 1_000
LIST_PROGRAMS_PER_SITE = 200
LIST_VALUE_CHARACTERS = 256
LIST_NOTE_CHARACTERS = 500
# Named lists of networks, and the networks of all of a site's lists; of one request that changes a list.
NETWORK_LISTS_PER_SITE = 32
NETWORKS_PER_SITE = 50_000
NETWORKS_PER_CHANGE = 5_000
NETWORK_PAGE = Bounds(1, 1000, default=200)
LIST_REFRESH_MINUTES = Bounds(5, 7 * 24 * 60, default=60)

# Fleet credentials that work, for each account.
LIVE_FLEET_SECRETS = 5

# Appeals.
APPEAL_CHARACTERS = 300
APPEAL_REPLY_CHARACTERS = 300
APPEAL_LET_IN_HOURS = 24
APPEAL_LET_IN_MOST_HOURS = 365 * 24
APPEAL_BODY_BYTES = 16 * 1024
APPEAL_KEPT_DAYS = 90
