"""The front doors and the account pages over HTTP. A form does what the route of the same name of the API does."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from msgspec import UNSET, Meta, json

from agentgate.http.call import Call
from agentgate.http.guards import check_browser_origin, declares
from agentgate.http.readiness.checks import ReadinessChecks
from agentgate.http.replies import Reply, Text
from agentgate.http.request import Request
from agentgate.lib import errors
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.lib.limiter import Limiter
from agentgate.lib.records import UNREADABLE, Input
from agentgate.pages.account import cards
from agentgate.pages.web_app import HTML
from agentgate.people.accounts.endpoints import own_user, setup, sign_in
from agentgate.people.accounts.guards import SessionCall, UserCall, begun_session
from agentgate.people.accounts.password_reset import PasswordReset
from agentgate.people.accounts.proofs import SignInProofs
from agentgate.people.accounts.records import (
    AcceptInput,
    AccessRequestInput,
    CodeInput,
    ForgotInput,
    Login,
    ResetInput,
    Session,
    SetupInput,
    SwitchInput,
    Typed,
)
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.accounts.setup_links import SetupStores
from agentgate.people.accounts.signing_in import list_open_invitations, reachable
from agentgate.people.identity.browser_check import REQUEST_ACCESS, BrowserCheck
from agentgate.people.identity.guards import refuse_bearer
from agentgate.people.identity.oidc import Issuers
from agentgate.people.identity.records import PasskeyAssertion
from agentgate.people.identity.sessions import UserSessions
from agentgate.people.outbox.messages import Messenger

# The four parts of a passkey's signature, and the JSON around them.
PASSKEY_CHARACTERS = 17_000


class SignInForm(Input, frozen=True, kw_only=True):
    """The user who signs in, and the page to open then."""

    email: Typed
    password: Typed
    next: Typed = ""
    check_token: Typed = ""


class CodeForm(Input, frozen=True, kw_only=True):
    """A code of the authenticator app, a recovery code, or a passkey's signature as JSON, which a script fills in."""

    code: Typed = ""
    recovery_code: Typed = ""
    passkey: Annotated[str, Meta(max_length=PASSKEY_CHARACTERS)] = ""
    next: Typed = ""


class ForgotForm(Input, frozen=True, kw_only=True):
    """The user who forgot their password."""

    email: Typed
    check_token: Typed = ""


class LinkForm(Input, frozen=True, kw_only=True):
    """The secret of a link, or the whole link as pasted, and the new password."""

    token: Typed
    password: Typed
    name: Typed = ""


class SetupForm(Input, frozen=True, kw_only=True):
    """The secret of the setup link, or the whole link, and who the first owner is."""

    token: Typed
    email: Typed
    password: Typed


class AccountsForm(Input, frozen=True, kw_only=True):
    """The account to work in; the token shows that the form was ours."""

    account_id: Typed
    csrf: Typed


class InvitationForm(Input, frozen=True, kw_only=True):
    """The invitation to accept; the token shows that the form was ours."""

    invitation_id: Typed
    csrf: Typed


@declares(refuses=("token_not_allowed", "cross_origin"))
async def form_of_this_page(call: Call) -> Call:
    """Allow forms sent from a page of this service."""
    refuse_bearer(call.request)
    check_browser_origin(call.request)
    return call


@declares(refuses=("token_not_allowed", "unauthorized", "session_expired", "csrf", "cross_origin", "user_suspended"))
async def begun_form(call: Call, sessions: UserSessions, store: Store[AccountStores]) -> SessionCall:
    """Allow users who have entered their password and now send the code."""
    check_browser_origin(call.request)
    return await begun_session(call, sessions, store)


HOME = "/console"
SIGN_IN = "/console/sign-in"
# A new owner's first page: it asks for the site's address, unless there is a site, then shows the installation.
FIRST_PAGE = "/console/new-site?first=1"

# Makes the page again, with what went wrong on it.
Again = Callable[[cards.FormProblem], str]


async def read_front_door(call: Call, readiness: ReadinessChecks) -> Reply[Text]:
    """Read the first page of the public listener: what this is, where to go, whether it is healthy."""
    return await _front_door(call, readiness, operator=False)


async def read_operator_front_door(call: Call, readiness: ReadinessChecks) -> Reply[Text]:
    """Read the first page of the admin listener."""
    return await _front_door(call, readiness, operator=True)


async def read_sign_in(call: Call, issuers: Issuers) -> Reply[Text]:
    """Read the page for signing in."""
    return cards.reply(cards.sign_in(call.request, next_path=_next(call.request), issuers=issuers.names))


async def send_sign_in(
    call: Call,
    body: SignInForm,
    store: Store[AccountStores],
    *,
    proofs: SignInProofs,
    sessions: UserSessions,
    issuers: Issuers,
) -> Reply[Text]:
    """Sign in from the page."""
    next_path = safe_next_path(body.next)
    login = Login(email=body.email, password=body.password, token=body.check_token or UNSET)
    return await _signed_in(
        call,
        sign_in.log_in(call, login, store, proofs, sessions),
        lambda problem: cards.sign_in(
            call.request, next_path=next_path, issuers=issuers.names, email=body.email, problem=problem
        ),
        next_path=next_path,
    )


async def read_code(call: Call) -> Reply[Text]:
    """Read the page for the second factor."""
    recovery = "recovery" in call.request.query()
    return cards.reply(cards.code(call.request, next_path=_next(call.request), recovery=recovery))


async def send_code(
    call: SessionCall, body: CodeForm, store: Store[AccountStores], proofs: SignInProofs, sessions: UserSessions
) -> Reply[Text]:
    """Finish signing in from the page."""
    next_path, recovery = safe_next_path(body.next), bool(body.recovery_code.strip())
    return await _signed_in(
        call,
        sign_in.finish_log_in(call, _typed_code(body), store, proofs, sessions),
        lambda problem: cards.code(call.request, next_path=next_path, recovery=recovery, problem=problem),
        next_path=next_path,
    )


def _typed_code(body: CodeForm) -> CodeInput:
    if body.passkey:
        try:
            return CodeInput(passkey=json.decode(body.passkey, type=PasskeyAssertion))
        except UNREADABLE:
            raise Refused("invalid_request", "The field passkey must be the JSON of a signature.") from None
    if body.recovery_code.strip():
        return CodeInput(recovery_code=body.recovery_code.strip())
    return CodeInput(code=body.code.replace(" ", ""))


async def read_forgot(call: Call) -> Reply[Text]:
    """Read the page for a forgotten password."""
    return cards.reply(cards.forgot(call.request))


async def send_forgot(call: Call, body: ForgotForm, password_reset: PasswordReset) -> Reply[Text]:
    """Send an email with a reset link from the page."""
    try:
        await sign_in.forgot_password(
            call, ForgotInput(email=body.email, token=body.check_token or UNSET), password_reset
        )
    except Refused as refused:
        return _again(call, refused, lambda problem: cards.forgot(call.request, email=body.email, problem=problem))
    words = cards.words_for(call.request)
    return cards.reply(
        cards.message(call.request, words["forgot.sent"], words["forgot.sentLead"], link=(SIGN_IN, words["back"]))
    )


async def read_reset(call: Call) -> Reply[Text]:
    """Read the page that a reset link leads to."""
    return cards.reply(cards.link_form(call.request, "reset"))


async def send_reset(
    call: Call,
    body: LinkForm,
    store: Store[AccountStores],
    *,
    proofs: SignInProofs,
    sessions: UserSessions,
    messenger: Messenger,
) -> Reply[Text]:
    """Set a new password from the page."""
    wanted = ResetInput(token=secret_of(body.token), password=body.password)
    work = sign_in.reset_password(call, wanted, store, proofs=proofs, sessions=sessions, messenger=messenger)
    return await _signed_in(
        call, work, lambda problem: cards.link_form(call.request, "reset", token=body.token, problem=problem)
    )


async def read_invite(call: Call) -> Reply[Text]:
    """Read the page that an invite link leads to."""
    return cards.reply(cards.link_form(call.request, "invite"))


async def send_invite(
    call: Call, body: LinkForm, store: Store[AccountStores], proofs: SignInProofs, sessions: UserSessions
) -> Reply[Text]:
    """Accept an invitation from the page."""
    name = {"name": body.name} if body.name.strip() else {}
    wanted = AcceptInput(token=secret_of(body.token), password=body.password, **name)
    return await _signed_in(
        call,
        sign_in.accept_invite(call, wanted, store, proofs, sessions),
        lambda problem: cards.link_form(call.request, "invite", token=body.token, name=body.name, problem=problem),
    )


async def read_setup(call: Call) -> Reply[Text]:
    """Read the page that the first owner's link leads to."""
    return cards.reply(cards.link_form(call.request, "setup"))


async def send_setup(
    call: Call, body: SetupForm, store: Store[SetupStores], proofs: SignInProofs, sessions: UserSessions
) -> Reply[Text]:
    """Make the first account from the page, and lead to the installation of its site."""
    wanted = SetupInput(token=secret_of(body.token), email=body.email, password=body.password)
    return await _signed_in(
        call,
        setup.accept_setup(call, wanted, store, proofs, sessions),
        lambda problem: cards.link_form(call.request, "setup", token=body.token, email=body.email, problem=problem),
        next_path=FIRST_PAGE,
    )


async def read_request_access(call: Call, browser_check: BrowserCheck) -> Reply[Text]:
    """Read the page for asking for an account."""
    return cards.reply(
        cards.request_access(call.request, cards.AccessForm(email="", name=""), check=_access_check(browser_check))
    )


async def send_request_access(
    call: Call, body: cards.AccessForm, store: Store[AccountStores], browser_check: BrowserCheck, limiter: Limiter
) -> Reply[Text]:
    """Ask for an account from the page."""
    given = {name: value for name in ("company", "message") if (value := getattr(body, name).strip())}
    wanted = AccessRequestInput(email=body.email, name=body.name, token=body.check_token or UNSET, **given)
    check = _access_check(browser_check)
    try:
        await own_user.request_access(call, wanted, store, browser_check, limiter)
    except Refused as refused:
        return _again(
            call, refused, lambda problem: cards.request_access(call.request, body, check=check, problem=problem)
        )
    words = cards.words_for(call.request)
    return cards.reply(
        cards.message(call.request, words["access.sent"], words["access.sentLead"], link=("/", words["refused.back"]))
    )


async def read_accounts(call: UserCall, store: Store[AccountStores], sessions: UserSessions) -> Reply[Text]:
    """Read the page for choosing an account."""
    memberships = reachable(await store.read.members.list_memberships(call.user.id), call.session.issuer)
    invitations = [] if call.session.issuer else await list_open_invitations(store.read, call, call.user)
    csrf = sessions.csrf_token(call.session)
    return cards.reply(cards.accounts(call.request, call.user.email, memberships, invitations, csrf=csrf))


async def send_accounts(
    call: UserCall, body: AccountsForm, stores: AccountStores, sessions: UserSessions
) -> Reply[Text]:
    """Work in another account, from the page."""
    if not sessions.is_csrf_token(call.session, body.csrf):
        raise Refused("csrf")
    switched = await own_user.switch_account(call, SwitchInput(account_id=body.account_id), stores, sessions)
    return cards.see_other(HOME, *switched.headers)


async def send_invitation(
    call: UserCall, body: InvitationForm, stores: AccountStores, sessions: UserSessions
) -> Reply[Text]:
    """Accept an invitation, from the page of accounts."""
    if not sessions.is_csrf_token(call.session, body.csrf):
        raise Refused("csrf")
    accepted = await own_user.accept_invitation(call, body.invitation_id, stores, sessions)
    return cards.see_other(HOME, *accepted.headers)


def write_refusal(code: str, text: str) -> Text:
    """Return an error as a page for people. It is sent under the policy of every error, so it has no style."""
    words = cards.words_of("en")
    told = words.get(f"error.{code}", text)
    html = cards.bare(words["refused.title"], told, SIGN_IN, words["back"])
    return Text(html.encode(), HTML)


def safe_next_path(path: str) -> str:
    """Return where to go after signing in: a page of the console, never another host."""
    is_ours = (
        path.startswith(f"{HOME}/") and not any(each in path for each in ("//", "\\", "..")) and path.isprintable()
    )
    return path if is_ours and path.isascii() else ""


def secret_of(typed: str) -> str:
    """Return the secret of a link, also if the user pasted the whole link."""
    return typed.strip().rpartition("#")[2]


async def _front_door(call: Call, readiness: ReadinessChecks, *, operator: bool) -> Reply[Text]:
    report = await readiness.report()
    host = call.request.header("host") or ""
    return cards.reply(cards.front_door(call.request, status=report.status, operator=operator, host=host))


async def _signed_in(call: Call, work: Awaitable[Reply[Session]], again: Again, *, next_path: str = "") -> Reply[Text]:
    """Do what the form asks for, then lead on: to the code, to the choice of an account, or to the console."""
    try:
        done = await work
    except Refused as refused:
        if refused.code == "invalid_link":
            return cards.reply(cards.dead_link(call.request), status=404)
        if refused.code == "already_active":
            return cards.reply(cards.sign_in_to_accept(call.request), status=409)
        return _again(call, refused, again)
    if done.body.mfa_required is True:
        return cards.see_other(f"/console/code{cards.with_next(next_path)}", *done.headers)
    several = isinstance(done.body.accounts, list) and len(done.body.accounts) > 1
    has_choice = several or done.body.invitations is not UNSET
    return cards.see_other(next_path or ("/v1/pages/accounts" if has_choice else HOME), *done.headers)


def _again(call: Call, refused: Refused, again: Again) -> Reply[Text]:
    row = errors.CONSOLE.lookup(refused.code)
    words: cards.Words = cards.words_for(call.request)
    text = words.get(f"error.{refused.code}") or refused.message or row.message
    retry_after = refused.headers.get("retry-after", "")
    wanted = refused.extra.get("browserCheck")
    check = None if wanted is None else cards.FormCheck(wanted["siteKey"], wanted["action"])
    if retry_after.isdecimal():
        text = words["error.wait" if check is None else "error.check"].replace("{seconds}", retry_after)
    problem = cards.FormProblem(
        text=text, retry_after_s=int(retry_after) if retry_after.isdecimal() else None, check=check
    )
    return cards.reply(again(problem), status=row.status, headers=tuple(refused.headers.items()))


def _access_check(browser_check: BrowserCheck) -> cards.FormCheck | None:
    return None if browser_check.site_key is None else cards.FormCheck(browser_check.site_key, REQUEST_ACCESS)


def _next(request: Request) -> str:
    return safe_next_path(request.query().get("next", ""))
