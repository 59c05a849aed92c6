"""The enumerations of the specification, first its shared table in its order, then those its text names.

Values are exactly what goes over the wire. What a role may do is not here but in `accounts`.
"""

from enum import StrEnum


class _HotStrEnum(StrEnum):
    """Words that are keys on the hot path. An enumeration hashes its names by a function written in Python."""

    __hash__ = str.__hash__


class Outcome(_HotStrEnum):
    """What is decided about a request or a challenge."""

    ALLOW = "allow"
    CHALLENGE = "challenge"
    BLOCK = "block"
    DROP = "drop"


class Mode(_HotStrEnum):
    """Whether a site's outcomes apply or are only recorded."""

    MONITOR = "monitor"
    ENFORCE = "enforce"


class WidgetMode(StrEnum):
    """How much of the browser check a visitor sees."""

    INVISIBLE = "invisible"
    MANAGED = "managed"
    INTERACTIVE = "interactive"


class RuleAction(StrEnum):
    """What a matching rule does; `count` observes only."""

    ALLOW = "allow"
    CHALLENGE = "challenge"
    BLOCK = "block"
    DROP = "drop"
    COUNT = "count"


class ModelKind(_HotStrEnum):
    """What a model scores."""

    AGENT = "agent"
    BOT = "bot"
    CONTENT = "content"


class ModelRole(StrEnum):
    """The place of a model: deciding, shadowing, or the one before."""

    ACTIVE = "active"
    CANDIDATE = "candidate"
    PREVIOUS = "previous"


class DecisionLabelValue(StrEnum):
    """What a decision is labelled as."""

    HUMAN = "human"
    BOT = "bot"
    AGENT = "agent"
    UNSURE = "unsure"


class LabelSource(StrEnum):
    """Where a decision label came from."""

    OPERATOR = "operator"
    PROBE = "probe"
    SYNTHETIC = "synthetic"
    # Said by a site's owners about somebody who appealed.
    APPEAL = "appeal"


class DecisionKind(_HotStrEnum):
    """What was decided about."""

    REQUEST = "request"
    CHALLENGE = "challenge"


class AccountRole(StrEnum):
    """A member's role in an account."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    READONLY = "readonly"


class ConsolePermission(StrEnum):
    """What a console route needs."""

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
    """What an API token may be given."""

    SITES_READ = "sites:read"
    SITES_WRITE = "sites:write"
    ANALYTICS_READ = "analytics:read"
    MEMBERS_READ = "members:read"


# ---- Named in the specification's text. ----


class OperatorVia(StrEnum):
    """How an operator is signed in."""

    SESSION = "session"
    KEY = "key"


class SiteHealthStatus(StrEnum):
    """The health shown in a site's summary."""

    OK = "ok"
    NO_CREDENTIALS = "no_credentials"
    NO_TRAFFIC = "no_traffic"
    NO_ROUTES = "no_routes"


class RulesSource(StrEnum):
    """Whose rule set a site follows."""

    SERVER = "server"
    SITE = "site"


class MetricsSource(StrEnum):
    """What metrics are counted from."""

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
    """Whether traffic was seen for a site."""

    WAITING = "waiting"
    LIVE = "live"


class DecisionQueue(StrEnum):
    """A named selection of the decision list."""

    LABELLING = "labelling"


class LabelledFilter(StrEnum):
    """Whether the decision list shows what an operator already labelled."""

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
    ADDRESS_MISMATCH = "address_mismatch"


class Readiness(StrEnum):
    """What the readiness answer says while decisions can be made."""

    READY = "ready"
    DEGRADED = "degraded"


# ---- Named by the contract only. ----


class HealthSeverity(StrEnum):
    """The overall status of a site's health and, but for `ok`, the severity of a failed check; worst last."""

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
    """Who did what an audit event records."""

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
    """What an event of kind `challenge` is about: a challenge that was given out, or how a verification ended."""

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
    """What a verification that was not refused answers."""

    PASSED = "passed"
    STEP_UP = "step_up"


class ReceiptKind(StrEnum):
    """Who earned a signed receipt, and how."""

    BROWSER = "browser"
    AGENT = "agent"
    HANDOFF = "handoff"


class ClearanceLevel(StrEnum):
    """What a browser did for its clearance, least first: waited without JavaScript, ran the check, took its step."""

    LOW = "low"
    CHECKED = "checked"
    STEP_UP = "step_up"


class TokenBinding(_HotStrEnum):
    """How closely a site's tokens are bound to whoever earned them."""

    # The same network or clearance, and a browser of the same family; what cannot be compared passes.
    NETWORK = "network"
    # What cannot be compared is refused.
    STRICT = "strict"
    NONE = "none"


class AgentVerdict(StrEnum):
    """What is known about the identity of an agent."""

    UNSIGNED = "unsigned"
    VERIFIED = "verified"
    INVALID = "invalid"
    UNVERIFIED = "unverified"


class HandoffStatus(StrEnum):
    """The state of a handoff while it can be polled."""

    PENDING = "pending"
    COMPLETED = "completed"
    DECLINED = "declined"


class AgentPolicyDefault(StrEnum):
    """What an agent policy does with agents it does not name."""

    ALLOW = "allow"
    CHALLENGE = "challenge"
    BLOCK = "block"


class AgentPolicyDecision(StrEnum):
    """What an agent policy says about one agent."""

    ALLOW = "allow"
    DENY = "deny"


class AgentPolicyAction(StrEnum):
    """What an agent policy says about one agent's use of one action."""

    ALLOW = "allow"
    DENY = "deny"
    CHALLENGE = "challenge"


class ListKind(StrEnum):
    """What an entry of a site's lists names."""

    ADDRESS = "address"
    NETWORK = "network"
    PROGRAM = "program"
    AGENT = "agent"
    VISITOR = "visitor"


class ListOutcome(StrEnum):
    """What an entry of a site's lists means for whom it names."""

    ALLOW = "allow"
    BLOCK = "block"


class AppealState(StrEnum):
    """Where an appeal stands. `suspect` waits too, but looks like spam."""

    WAITING = "waiting"
    SUSPECT = "suspect"
    LET_IN = "let_in"
    REFUSED = "refused"
    SPAM = "spam"


class AppealAnswer(StrEnum):
    """What the owners of a site answer to an appeal."""

    LET_IN = "let_in"
    REFUSE = "refuse"
    SPAM = "spam"


class ChargeSource(StrEnum):
    """For what an agent was charged."""

    GATEWAY = "gateway"
    SUBMIT = "submit"
