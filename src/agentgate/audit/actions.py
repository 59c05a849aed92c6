"""The names of everything that leaves an audit entry. Filters match a name and its dotted children."""

from enum import StrEnum


class Action(StrEnum):
    """What was done."""

    ACCOUNT_CREATE = "account.create"
    SIGNIN_SUCCESS = "signin.success"
    SITE_CREATE = "site.create"
    SITE_UPDATE = "site.update"
    SITE_MODE = "site.mode"
    SITE_MOVE = "site.move"
    SITE_MOVE_OUT = "site.move_out"
    CREDENTIAL_CREATE = "credential.create"
    CREDENTIAL_ROTATE = "credential.rotate"
    CREDENTIAL_REVOKE = "credential.revoke"
