"""What the forms of the account pages send. A browser sends every field, so an empty one counts as absent."""

from agentgate.lib.records import Input
from agentgate.people.accounts.records import Typed


class SignInForm(Input, frozen=True, kw_only=True):
    """Who signs in, and where they wanted to go."""

    email: Typed
    password: Typed
    next: Typed = ""
    check_token: Typed = ""


class CodeForm(Input, frozen=True, kw_only=True):
    """A code of the authenticator app, or a recovery code."""

    code: Typed = ""
    recovery_code: Typed = ""
    next: Typed = ""


class ForgotForm(Input, frozen=True, kw_only=True):
    """Whose password is forgotten."""

    email: Typed
    check_token: Typed = ""


class LinkForm(Input, frozen=True, kw_only=True):
    """The secret of a link, or the whole link as somebody pasted it, and the new password."""

    token: Typed
    password: Typed
    name: Typed = ""


class AccessForm(Input, frozen=True, kw_only=True):
    """Who asks for an account."""

    email: Typed
    name: Typed
    company: Typed = ""
    message: str = ""
    check_token: Typed = ""


class AccountsForm(Input, frozen=True, kw_only=True):
    """The account to work in; the token shows that the form was ours."""

    account_id: Typed
    csrf: Typed
