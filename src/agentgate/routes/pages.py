"""The pages that people open: front doors, account pages, and the two consoles."""

from agentgate.http.endpoint import Guard, Handler
from agentgate.http.surface import RowMaker, Surface, get, post
from agentgate.lib import errors
from agentgate.pages import web_app
from agentgate.pages.account import endpoints as pages
from agentgate.pages.account import oidc
from agentgate.pages.account.endpoints import begun_form, form_of_this_page
from agentgate.people.accounts.guards import signed_in, signed_in_form

# A form has a few fields.
FORM_BYTES = 16 * 1024
HTML = "text/html"
# An app's addresses have at most this many parts behind its name: `/console/sites/{siteKey}/decisions`.
PARTS = ("", "/", "/{page}", "/{page}/{name}", "/{page}/{name}/{part}")


def _shown(path: str, handler: Handler) -> RowMaker:
    return get(path, handler, media_type=HTML, any_query=True)


def _form(path: str, handler: Handler, guard: Guard = form_of_this_page) -> RowMaker:
    return post(path, handler, guard=guard, media_type=HTML, any_query=True, body_limit=FORM_BYTES)


# Forms post to paths below `/v1`, because the session's cookie is sent only there.
CUSTOMER_PAGES = Surface(
    name="pages",
    title="AgentGate pages",
    prefix="",
    errors=errors.CONSOLE,
    json_only=False,
    forms=True,
    write_refusal=pages.write_refusal,
    refusal_record=None,
    table=(
        _shown("/", pages.read_front_door),
        _shown("/console/sign-in", pages.read_sign_in),
        _form("/v1/pages/sign-in", pages.send_sign_in),
        _shown(oidc.PATH, oidc.begin_oidc),
        _shown(f"{oidc.PATH}/{oidc.CALLBACK}", oidc.finish_oidc),
        _shown("/console/code", pages.read_code),
        _form("/v1/pages/code", pages.send_code, begun_form),
        _shown("/console/forgot", pages.read_forgot),
        _form("/v1/pages/forgot", pages.send_forgot),
        _shown("/console/reset", pages.read_reset),
        _form("/v1/pages/reset", pages.send_reset),
        _shown("/console/invite", pages.read_invite),
        _form("/v1/pages/invite", pages.send_invite),
        _shown("/console/setup", pages.read_setup),
        _form("/v1/pages/setup", pages.send_setup),
        _shown("/console/request-access", pages.read_request_access),
        _form("/v1/pages/request-access", pages.send_request_access),
        get("/v1/pages/accounts", pages.read_accounts, guard=signed_in, media_type=HTML, any_query=True),
        _form("/v1/pages/accounts", pages.send_accounts, signed_in_form),
        _form("/v1/pages/invitations", pages.send_invitation, signed_in_form),
        get("/console/assets/{file}", web_app.read_asset, media_type="text/javascript", any_query=True),
        *(_shown(f"/console{parts}", web_app.read_console) for parts in PARTS),
    ),
)

OPERATOR_PAGES = Surface(
    name="operator_pages",
    title="AgentGate operator pages",
    prefix="",
    errors=errors.CONSOLE,
    table=(
        _shown("/", pages.read_operator_front_door),
        _shown(oidc.OPERATOR_PATH, oidc.begin_operator_oidc),
        _shown(f"{oidc.OPERATOR_PATH}/{oidc.CALLBACK}", oidc.finish_operator_oidc),
        get("/operator/assets/{file}", web_app.read_asset, media_type="text/javascript", any_query=True),
        *(_shown(f"/operator{parts}", web_app.read_operator_console) for parts in PARTS),
    ),
)
