"""The enumerations of the specification: first its shared table in its order, then the enumerations in its text.

Values are exactly as in API bodies. `accounts` defines the permissions of a role.
"""

from enum import StrEnum


class _HotStrEnum(StrEnum):
    """Words that are keys on the hot path. An enumeration hashes its names by a function written in Python."""

    __hash__ = str.__hash__


class Outcome(_HotStrEnum):
    """The decision about a request or a challenge."""

    ALLOW = "allow"
    CHALLENGE = "challenge"
    BLOCK = "block"
    DROP = "drop"


class Mode(_HotStrEnum):
    """The mode of a site: outcomes apply or are only recorded."""

    MONITOR = "monitor"
    ENFORCE = "enforce"


class WidgetMode(StrEnum):
    """Visibility of the browser check."""

    INVISIBLE = "invisible"
    MANAGED = "managed"
    INTERACTIVE = "interactive"


class RuleAction(StrEnum):
    """The action of a matching rule; `count` only counts."""

    ALLOW = "allow"
    CHALLENGE = "challenge"
    BLOCK = "block"
    DROP = "drop"
    COUNT = "count"


class ModelKind(_HotStrEnum):
    """The question that a model scores."""

    AGENT = "agent"
    BOT = "bot"
    CONTENT = "content"


class ModelRole(StrEnum):
    """The role of a model: active, candidate or previous."""

    ACTIVE = "active"
    CANDIDATE = "candidate"
    PREVIOUS = "previous"


class DecisionLabelValue(StrEnum):
    """The label of a decision."""

    HUMAN = "human"
    BOT = "bot"
    AGENT = "agent"
    UNSURE = "unsure"


class LabelSource(StrEnum):
    """The source of a decision label."""

    OPERATOR = "operator"
    PROBE = "probe"
    SYNTHETIC = "synthetic"
    # Set by a site's owners about a visitor who appealed.
    APPEAL = "appeal"


class DecisionKind(_HotStrEnum):
    """The subject of a decision."""

    REQUEST = "request"
    CHALLENGE = "challenge"


class AccountRole(StrEnum):
    """A member's role in an account."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    READONLY = "readonly"


class ConsolePermission(StrEnum):
    """A permission that a console route requires."""

    SITES_READ = "sites:read"
    SITES_WRITE = "sites:write"
    ANALYTICS_READ = "analytics:read"
    MEMBERS_READ = "members:read"
    MEMBERS_WRITE = "members:write"
    TOKENS_WRITE = "tokens:write"
    ACCOUNT_WRITE = "account:write"
    ACCOUNT_DELETE = "account:delete"
    AUDIT_READ = "audit:read"


class ApiTokenScope(StrEnum):
    """A permission of an API token."""

    SITES_READ = "sites:read"
    SITES_WRITE = "sites:write"
    ANALYTICS_READ = "analytics:read"
    MEMBERS_READ = "members:read"


# ---- Named in the specification's text. ----


class OperatorVia(StrEnum):
    """The kind of an operator's sign-in."""

    SESSION = "session"
    KEY = "key"


class SiteHealthStatus(StrEnum):
    """The health shown in a site's summary."""

    OK = "ok"
    NO_CREDENTIALS = "no_credentials"
    NO_TRAFFIC = "no_traffic"
    NO_ROUTES = "no_routes"


class RulesSource(StrEnum):
    """The source of a site's rule set."""

    SERVER = "server"
    SITE = "site"


class MetricsSource(StrEnum):
    """The source of metrics."""

    EVENTS = "events"
    AGGREGATES = "aggregates"


class MetricsBucket(StrEnum):
    """The width of a series' buckets."""

    HOUR = "hour"
    DAY = "day"


class AccountStatus(StrEnum):
    """The state of an account."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    DELETED = "deleted"


class AccessRequestStatus(StrEnum):
    """The state of an access request."""

    PENDING = "pending"
    APPROVED = "approved"
    DECLINED = "declined"


class UserStatus(StrEnum):
    """The state of a user, whatever the account."""

    ACTIVE = "active"
    SUSPENDED = "suspended"


class InstallState(StrEnum):
    """State of a site's first traffic."""

    WAITING = "waiting"
    LIVE = "live"


class DecisionQueue(StrEnum):
    """A named selection of the decision list."""

    LABELLING = "labelling"


class LabelledFilter(StrEnum):
    """Whether the decision list shows what an operator already labeled."""

    ANY = "any"
    NO = "no"


class HealthCheck(StrEnum):
    """The checks of a site's integration health."""

    SITEVERIFY_MISSING = "siteverify_missing"
    NO_CREDENTIAL = "no_credential"
    NOT_INSTALLED = "not_installed"
    NO_TRAFFIC = "no_traffic"
    ORIGIN_NOT_ALLOWED = "origin_not_allowed"
    SITEVERIFY_ERRORS = "siteverify_errors"
    CREDENTIAL_UNKNOWN = "credential_unknown"
    ADDRESS_MISMATCH = "address_mismatch"
    ISSUER_UNAVAILABLE = "issuer_unavailable"
    SITE_BUSY = "site_busy"


class Readiness(StrEnum):
    """The status of the readiness response while decisions can be made."""

    READY = "ready"
    DEGRADED = "degraded"


# ---- Named by the contract only. ----


class HealthSeverity(StrEnum):
    """The overall status of a site's health and, except `ok`, the severity of a failed check; worst last."""

    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class MemberStatus(StrEnum):
    """The state of a member within an account."""

    ACTIVE = "active"
    INVITED = "invited"
    SUSPENDED = "suspended"


class ActorKind(StrEnum):
    """The actor of an audit event."""

    USER = "user"
    TOKEN = "token"  # noqa: S105 - a word of the contract, no secret
    OPERATOR = "operator"
    SYSTEM = "system"


class OutboxStatus(StrEnum):
    """The state of a message in the outbox."""

    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"


class ModelType(StrEnum):
    """How a model file computes its score."""

    LOGISTIC = "logistic"
    TREES = "trees"


class ChallengeStage(_HotStrEnum):
    """The subject of an event of kind `challenge`: a challenge that was issued, or the end of a verification."""

    ISSUED = "issued"
    PASSED = "passed"
    FAILED = "failed"


class SolveType(_HotStrEnum):
    """How a challenge was solved."""

    INVISIBLE = "invisible"
    MANAGED = "managed"
    INTERACTIVE = "interactive"
    STEP_UP = "step_up"


class VerifyStatus(StrEnum):
    """Outcome of a verification without errors."""

    PASSED = "passed"
    STEP_UP = "step_up"


class ReceiptKind(StrEnum):
    """The holder of a signed receipt and its kind."""

    BROWSER = "browser"
    AGENT = "agent"
    HANDOFF = "handoff"


class ClearanceLevel(StrEnum):
    """The browser's work for its clearance, least first: waited without JavaScript, ran the check, took its step."""

    LOW = "low"
    CHECKED = "checked"
    STEP_UP = "step_up"


class WholeSiteWhen(StrEnum):
    """When `wholeSite` applies."""

    ALWAYS = "always"
    BUSY = "busy"


class Preset(StrEnum):
    """The application whose costly pages a site's rules challenge besides."""

    NONE = "none"
    FORGEJO = "forgejo"
    GITEA = "gitea"
    GITLAB = "gitlab"
    CGIT = "cgit"
    MEDIAWIKI = "mediawiki"
    WORDPRESS = "wordpress"
    DISCOURSE = "discourse"
    NEXTCLOUD = "nextcloud"
    MATRIX = "matrix"


class LoadState(StrEnum):
    """A site's page rate compared with its usual one."""

    NORMAL = "normal"
    BUSY = "busy"
    FLOOD = "flood"


class TokenBinding(_HotStrEnum):
    """The binding of a site's tokens to their visitor."""

    # The same network or clearance, and a browser of the same family; what cannot be compared passes.
    NETWORK = "network"
    # Values that cannot be compared are rejected.
    STRICT = "strict"
    NONE = "none"


class Assistants(_HotStrEnum):
    """Treatment of browsers that a person's assistant drives openly."""

    CHALLENGE = "challenge"
    ALLOW = "allow"
    BLOCK = "block"


class AgentVerdict(StrEnum):
    """Result of the verification of an agent."""

    UNSIGNED = "unsigned"
    VERIFIED = "verified"
    INVALID = "invalid"
    UNVERIFIED = "unverified"


class AiPurpose(_HotStrEnum):
    """What AI operators and agents read pages for."""

    SEARCH = "search"
    AGENT = "agent"
    TRAINING = "training"


class AiUseChoice(StrEnum):
    """A site's setting for one purpose of AI operators and agents."""

    ALLOW = "allow"
    CHALLENGE = "challenge"
    BLOCK = "block"
    PRICE = "price"


class HandoffStatus(StrEnum):
    """The state of a handoff while it can be polled."""

    PENDING = "pending"
    COMPLETED = "completed"
    DECLINED = "declined"


class AgentPolicyDefault(StrEnum):
    """An agent policy's rule for unlisted agents."""

    ALLOW = "allow"
    CHALLENGE = "challenge"
    BLOCK = "block"


class AgentPolicyDecision(StrEnum):
    """An agent policy's rule for one agent."""

    ALLOW = "allow"
    DENY = "deny"


class AgentPolicyAction(StrEnum):
    """An agent policy's rule for one agent and one action."""

    ALLOW = "allow"
    DENY = "deny"
    CHALLENGE = "challenge"


class ListKind(StrEnum):
    """The kind of value of a list entry."""

    ADDRESS = "address"
    NETWORK = "network"
    PROGRAM = "program"
    AGENT = "agent"
    VISITOR = "visitor"


class NetworkSource(StrEnum):
    """The source of a network list: its owner, a URL, or the local API of CrowdSec."""

    OWN = "own"
    URL = "url"
    CROWDSEC = "crowdsec"


class ListOutcome(StrEnum):
    """The effect of a list entry: allow or block."""

    ALLOW = "allow"
    BLOCK = "block"


class AppealState(StrEnum):
    """The state of an appeal. `suspect` is also open but looks like spam."""

    WAITING = "waiting"
    SUSPECT = "suspect"
    LET_IN = "let_in"
    REFUSED = "refused"
    SPAM = "spam"


class AppealAnswer(StrEnum):
    """The resolution of an appeal."""

    LET_IN = "let_in"
    REFUSE = "refuse"
    SPAM = "spam"


class ChargeSource(StrEnum):
    """The source of a charge."""

    GATEWAY = "gateway"
    SUBMIT = "submit"


class UnknownHosts(StrEnum):
    """The decision of a fleet credential about a server name that no site has."""

    ALLOW = "allow"
    BLOCK = "block"
