"""Sign-in with an identity provider from the sign-in pages: the way there and the way back, for users and operators."""

import re

from agentgate.http.call import Call
from agentgate.http.replies import Reply, Text, set_cookie
from agentgate.lib.database import Store
from agentgate.lib.errors import CONSOLE, Refused
from agentgate.lib.limits import OPERATOR_NAME_CHARACTERS
from agentgate.lib.markup import element, joined
from agentgate.pages.account import cards
from agentgate.pages.account.endpoints import HOME, SIGN_IN, safe_next_path
from agentgate.people.accounts import oidc_sign_in
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.accounts.signing_in import record_failure
from agentgate.people.identity.endpoints import COOKIE_PATH
from agentgate.people.identity.guards import ADMIN_COOKIE
from agentgate.people.identity.links import LinkUrls
from agentgate.people.identity.oidc import Issuers
from agentgate.people.identity.operators import Operators
from agentgate.people.identity.sessions import UserSessions

PATH = cards.OIDC
OPERATOR_PATH = "/operator/oidc"
CALLBACK = "callback"
OPERATOR_SIGN_IN = "/operator/sign-in"


async def begin_oidc(call: Call, issuers: Issuers, urls: LinkUrls) -> Reply[Text]:
    """Lead the browser to an identity provider."""
    query = call.request.query()
    next_path = safe_next_path(query.get("next", ""))
    back = f"{urls.origin(None)}{PATH}/{CALLBACK}"
    return await _begin(call, issuers, back, PATH, next_path)


async def finish_oidc(call: Call, issuers: Issuers, store: Store[AccountStores], sessions: UserSessions) -> Reply[Text]:
    """Sign in with the response of an identity provider."""
    try:
        identity, next_path = await issuers.finish(call, path=f"{PATH}/{CALLBACK}")
        started = await oidc_sign_in.sign_in(call, store, sessions, identity)
    except Refused as refused:
        await store.change(lambda stores: record_failure(stores, call, None, "oidc"))
        return _problem(call, refused, SIGN_IN, PATH, issuers)
    done = started.reply(call, sessions)
    return cards.see_other(next_path or HOME, *done.headers, issuers.cleared_cookie(call, PATH))


async def begin_operator_oidc(call: Call, issuers: Issuers) -> Reply[Text]:
    """Lead an operator's browser to an identity provider; without `issuer`, list those that may be chosen."""
    words = cards.words_for(call.request)
    if "issuer" not in call.request.query():
        links = [cards.issuer_link(words, name, path=OPERATOR_PATH) for name in issuers.for_operators]
        lead = words["oidc.choose" if links else "oidc.none"]
        below = cards.footer(element("a", words["back"], href=OPERATOR_SIGN_IN))
        listed = element("div", cards.title(words["signIn.title"], lead), joined(links), class_="in stack")
        return cards.reply(cards.card(call.request, words["signIn.title"], listed, footer=below))
    scheme = "https" if call.request.secure else "http"
    # One of the names of the settings: the listener accepts no others.
    back = f"{scheme}://{call.request.header('host')}{OPERATOR_PATH}/{CALLBACK}"
    if call.request.query().get("issuer") not in issuers.for_operators:
        return _problem(call, Refused("not_found"), OPERATOR_SIGN_IN, OPERATOR_PATH, issuers)
    return await _begin(call, issuers, back, OPERATOR_PATH, "")


async def finish_operator_oidc(
    call: Call, issuers: Issuers, store: Store[AccountStores], operators: Operators
) -> Reply[Text]:
    """Sign in as an operator with the response of an identity provider."""
    try:
        identity, _ = await issuers.finish(call, path=f"{OPERATOR_PATH}/{CALLBACK}")
        issuers.check_operator(identity)
    except Refused as refused:
        await store.change(lambda stores: record_failure(stores, call, None, "oidc"))
        return _problem(call, refused, OPERATOR_SIGN_IN, OPERATOR_PATH, issuers)
    name = re.sub(r"[^A-Za-z0-9._@-]", "-", identity.email or identity.subject)[:OPERATOR_NAME_CHARACTERS]
    detail = {"method": "oidc", "issuer": identity.issuer, "subject": identity.subject}
    secret, _ = await operators.start_session(call, name, detail)
    cookie = set_cookie(ADMIN_COOKIE, secret, path=COOKIE_PATH, same_site="Strict", secure=call.request.secure)
    return cards.see_other("/operator", cookie, issuers.cleared_cookie(call, OPERATOR_PATH))


async def _begin(call: Call, issuers: Issuers, back: str, path: str, next_path: str) -> Reply[Text]:
    try:
        name = call.request.query().get("issuer", "")
        (_, location), cookie = await issuers.begin(call, name, redirect_uri=back, path=path, next_path=next_path)
    except Refused as refused:
        page = OPERATOR_SIGN_IN if path == OPERATOR_PATH else SIGN_IN
        return _problem(call, refused, page, path, issuers)
    return cards.see_other(location, cookie)


def _problem(call: Call, refused: Refused, page: str, path: str, issuers: Issuers) -> Reply[Text]:
    words = cards.words_for(call.request)
    row = CONSOLE.lookup(refused.code)
    text = refused.message or words.get(f"error.{refused.code}", row.message)
    html = cards.message(call.request, words["oidc.title"], text, link=(page, words["back"]))
    ended = issuers.cleared_cookie(call, path)
    return cards.reply(html, status=row.status, headers=(*refused.headers.items(), ended))
