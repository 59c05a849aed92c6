"""Two-factor authentication of a user, as it goes over the wire."""

from msgspec import UNSET, UnsetType

from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record
from agentgate.people.accounts.records import CodeInput, Typed


class PasswordInput(Input, frozen=True, kw_only=True):
    """The password, as confirmation."""

    password: Typed


class Passkey(Record, frozen=True, kw_only=True):
    """A passkey of the user."""

    id: str
    name: str
    created_at: Moment
    last_used_at: Moment | UnsetType = UNSET


class PasskeyChallenge(Record, frozen=True, kw_only=True):
    """A challenge to sign, and the credentials of the user's passkeys, in base64url.

    The relying party is the host of the page; user verification is required.
    """

    challenge: str
    credential_ids: list[str]


class NewPasskey(Record, frozen=True, kw_only=True):
    """The new passkey, and recovery codes if it turned two-factor authentication on. They are shown only once."""

    passkey: Passkey
    recovery_codes: list[str] | UnsetType = UNSET


class MfaState(Record, frozen=True, kw_only=True):
    """The user's two-factor authentication: on, in setup, required by one of their accounts.

    `authenticator`: codes of an authenticator app are accepted.
    """

    enabled: bool
    authenticator: bool
    passkeys: list[Passkey]
    pending: bool
    required_by_account: bool
    recovery_codes_left: int


class MfaSetup(Record, frozen=True, kw_only=True):
    """The data for an authenticator app."""

    secret: str
    otpauth_url: str


class MfaEnableInput(Input, frozen=True, kw_only=True):
    """The first code of the authenticator app."""

    code: Typed


class RecoveryCodes(Record, frozen=True, kw_only=True):
    """Single-use codes for a lost second factor. They are shown only once."""

    recovery_codes: list[str]


class MfaDisableInput(CodeInput, frozen=True, kw_only=True):
    """The password, and a code, recovery code or passkey."""

    password: Typed
