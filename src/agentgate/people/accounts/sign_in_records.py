"""The bodies of the account API. The Session record, which most of its routes answer with, is in `records`."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from agentgate.lib.enums import AccountRole
from agentgate.lib.moment import Moment
from agentgate.lib.names import NAME_CHARACTERS
from agentgate.lib.records import Input, Record

# Well above what is allowed to be chosen: a wrong password should be called wrong, and not malformed.
TYPED_CHARACTERS = 1024
MESSAGE_CHARACTERS = 2000

Typed = Annotated[str, Meta(max_length=TYPED_CHARACTERS)]
Name = Annotated[str, Meta(max_length=NAME_CHARACTERS)]
CheckToken = Annotated[str, Meta(max_length=2048)]


class Login(Input, frozen=True, kw_only=True):
    """Who signs in. `token` is of the browser check, action `sign_in`; it is asked for during an attack only."""

    email: Typed
    password: Typed
    token: CheckToken | UnsetType = UNSET


class CodeInput(Input, frozen=True, kw_only=True):
    """A code of the authenticator app, or one of the recovery codes: exactly one of them."""

    code: Typed | UnsetType = UNSET
    recovery_code: Typed | UnsetType = UNSET


class SwitchInput(Input, frozen=True, kw_only=True):
    """The account to work in."""

    account_id: Typed


class AccountInput(Input, frozen=True, kw_only=True):
    """A new account."""

    name: Name


class InviteInfo(Record, frozen=True, kw_only=True):
    """Who an invite link is for, and what it lets them join."""

    email: str
    account_name: str
    role: AccountRole
    expires_at: Moment


class AcceptInput(Input, frozen=True, kw_only=True):
    """The secret of the invite link, and the first password."""

    token: Typed
    password: Typed
    name: Name | UnsetType = UNSET


class ForgotInput(Input, frozen=True, kw_only=True):
    """Whose password is forgotten. `token` is of the browser check, action `sign_in`, asked for in a flood only."""

    email: Typed
    token: CheckToken | UnsetType = UNSET


class Received(Record, frozen=True, kw_only=True):
    """The answer to everybody, known or not."""

    status: Literal["received"] = "received"


class ResetInput(Input, frozen=True, kw_only=True):
    """The secret of the reset link, and the new password."""

    token: Typed
    password: Typed


class PasswordChange(Input, frozen=True, kw_only=True):
    """The password as it is, and as it shall be."""

    current_password: Typed
    new_password: Typed


class MfaState(Record, frozen=True, kw_only=True):
    """Two-factor authentication of the user: on, being set up, demanded by one of their accounts."""

    enabled: bool
    pending: bool
    required_by_account: bool
    recovery_codes_left: int


class MfaSetup(Record, frozen=True, kw_only=True):
    """What an authenticator app needs to know."""

    secret: str
    otpauth_url: str


class MfaEnableInput(Input, frozen=True, kw_only=True):
    """The first code of the authenticator app."""

    code: Typed


class RecoveryCodes(Record, frozen=True, kw_only=True):
    """Codes for when the authenticator app is lost, each for one use. They are shown this once."""

    recovery_codes: list[str]


class MfaDisableInput(CodeInput, frozen=True, kw_only=True):
    """The password, and a code or recovery code."""

    password: Typed


class SessionItem(Record, frozen=True, kw_only=True):
    """One of the user's sessions. The address is a keyed hash."""

    id: str
    current: bool
    browser: str
    address_id: str
    created_at: Moment
    last_used_at: Moment


class SessionList(Record, frozen=True, kw_only=True):
    """The user's sessions, newest first."""

    items: list[SessionItem]


class AccessRequestInput(Input, frozen=True, kw_only=True):
    """Who asks for an account. `token` is what the browser check of the service's own site gave."""

    email: Typed
    name: Name
    company: Name | UnsetType = UNSET
    message: Annotated[str, Meta(max_length=MESSAGE_CHARACTERS)] | UnsetType = UNSET
    token: CheckToken | UnsetType = UNSET
