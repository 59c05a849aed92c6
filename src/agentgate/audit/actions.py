"""The names of everything that leaves an audit entry. Filters match a name and its dotted children."""

from enum import StrEnum


class Action(StrEnum):
    """What was done."""

    ACCOUNT_CREATE = "account.create"
    ACCOUNT_RENAME = "account.rename"
    ACCOUNT_LIMITS = "account.limits"
    ACCOUNT_SUSPEND = "account.suspend"
    ACCOUNT_REACTIVATE = "account.reactivate"
    ACCOUNT_DELETE = "account.delete"
    ACCOUNT_TRANSFER = "account.transfer"
    ACCOUNT_MFA_POLICY = "account.mfa_policy"
    MEMBER_INVITE = "member.invite"
    MEMBER_JOIN = "member.join"
    MEMBER_ROLE = "member.role"
    MEMBER_REMOVE = "member.remove"
    MEMBER_RESEND = "member.resend"
    USER_SUSPEND = "user.suspend"
    USER_REACTIVATE = "user.reactivate"
    USER_RESET_LINK = "user.reset_link"
    USER_MFA_RESET = "user.mfa_reset"
    USER_PASSWORD = "user.password"  # noqa: S105 - the name of a change
    USER_MFA_ON = "user.mfa_on"
    USER_MFA_OFF = "user.mfa_off"
    SIGNIN_SUCCESS = "signin.success"
    SIGNIN_FAILURE = "signin.failure"
    TOKEN_CREATE = "token.create"  # noqa: S105 - likewise
    TOKEN_REVOKE = "token.revoke"  # noqa: S105 - likewise
    SITE_CREATE = "site.create"
    SITE_UPDATE = "site.update"
    SITE_MODE = "site.mode"
    SITE_MOVE = "site.move"
    SITE_MOVE_OUT = "site.move_out"
    CREDENTIAL_CREATE = "credential.create"
    CREDENTIAL_ROTATE = "credential.rotate"
    CREDENTIAL_REVOKE = "credential.revoke"
    RULES_UPDATE = "rules.update"
    AGENT_POLICY_UPDATE = "agent_policy.update"
