"""Every route that a request could be has its protection, and each must let the request pass."""

import msgspec
import pytest

from agentgate.browser_check import testing_sites
from agentgate.gateway.header_layout import HeaderLayout
from agentgate.gateway.route_protection import OPEN, MethodClaims, Protection, protections_of, strongest
from agentgate.sites.directory import SiteView
from agentgate.sites.records import SiteAction, SiteRoute
from agentgate.sites.route_table import RouteTable


def site_with(*routes: tuple[str, str, str]) -> SiteView:
    """Return a site with routes of (method, path or prefix*, action); actions named `open*` need nothing."""
    made = [
        SiteRoute(method=method, action=action, path_prefix=path[:-1])
        if path.endswith("*")
        else SiteRoute(method=method, action=action, path=path)
        for method, path, action in routes
    ]
    actions = {action: SiteAction(browser_required=not action.startswith("open")) for _, _, action in routes}
    view = next(iter(testing_sites.testing_sites().values()))
    return msgspec.structs.replace(view, actions=actions, routes=RouteTable(made))


SITE = site_with(
    ("POST", "/login", "login"),
    ("GET", "/Account/Home", "account"),
    ("*", "/admin/*", "admin"),
    ("GET", "/search", "open_search"),
    ("DELETE", "/items/*", "delete"),
)


def method_claims(method: str, fields: dict[bytes, bytes]) -> MethodClaims:
    return HeaderLayout(tuple(fields)).claims(method, tuple(fields.values()))


def actions_of(method: str, path: str, **headers: bytes) -> list[str | None]:
    fields = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    found = protections_of(SITE, method_claims(method, fields), path.encode("latin-1"), b"shop.example")
    return [each.action for each in found]


@pytest.mark.parametrize(
    ("method", "path", "action"),
    [
        ("POST", "/login", "login"),
        ("POST", "/LOGIN", "login"),
        ("POST", "/login/", "login"),
        ("POST", "//login", "login"),
        ("POST", "/%6cogin", "login"),
        ("POST", "/%256cogin", "login"),
        ("POST", "/a/../login", "login"),
        ("POST", "/a/%2e%2e/login", "login"),
        ("POST", "/login;jsessionid=1", "login"),
        ("POST", "/./login", "login"),
        ("POST", "/a\\..\\login", "login"),
        ("GET", "/account/home", "account"),
        ("HEAD", "/Account/Home", "account"),
        ("DELETE", "/admin/users/1", "admin"),
        ("GET", "/public/%2e%2e/admin/users", "admin"),
        ("POST", "/login%3fx=1", "login"),
        ("GET", "//admin;a=/..//7", "admin"),
        # A target that AgentGate cannot parse could be any route that it names.
        ("POST", "/login;%ff", "login"),
        ("GET", "/admin/us%u0065rs", "admin"),
        ("GET", "/%e9/../admin/", "admin"),
        ("PURGE", "/admin/users", "admin"),
        ("BREW", "/login", "login"),
    ],
)
def test_no_spelling_of_a_protected_path_is_open(method: str, path: str, action: str) -> None:
    assert action in actions_of(method, path)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/login"),
        ("GET", "/"),
        ("POST", "/log"),
        ("GET", "/administration"),
        ("GET", "/x/login.html"),
        ("GET", "/100%"),
        ("GET", "/voil\xc3\xa0"),
        ("PROPFIND", "/anything"),
    ],
)
def test_what_no_server_could_take_for_a_protected_path_is_open(method: str, path: str) -> None:
    assert actions_of(method, path) == [None]


def test_an_override_adds_a_method_and_one_that_is_not_understood_adds_all() -> None:
    assert actions_of("GET", "/login", x_http_method_override=b"POST") == ["login"]
    assert actions_of("GET", "/login", x_http_method_override=b"FOO") == ["login"]
    assert actions_of("GET", "/login", x_http_method=b"") == ["login"]
    assert actions_of("GET", "/login?_method=POST") == ["login"]
    assert actions_of("GET", "/login", x_method_override=b"PUT") == [None]


def test_a_form_may_carry_another_method_unless_the_site_shows_that_it_cannot() -> None:
    form = {"content_type": b"application/x-www-form-urlencoded"}
    assert actions_of("POST", "/items/7", **form) == ["delete"]
    assert actions_of("POST", "/items/7", content_type=b"application/json") == ["delete"]
    assert actions_of("POST", "/items/7", content_type=b"text/plain") == [None]

    plain = msgspec.structs.replace(SITE, form_method_override=False)
    claims = method_claims("POST", {b"content-type": form["content_type"]})
    assert protections_of(plain, claims, b"/items/7") == (OPEN,)


def test_a_request_that_could_be_two_routes_has_both_protections() -> None:
    assert set(actions_of("POST", "/admin/../login")) == {"admin", "login"}


def test_a_site_without_routes_protects_nothing_by_route() -> None:
    assert protections_of(site_with(), MethodClaims("get"), b"/%zz") == (OPEN,)


def test_the_strongest_protection_asks_for_a_token_before_a_clearance_before_nothing() -> None:
    token = Protection("/pay", "pay", required=True)
    cleared = Protection("/members", "members", required=True, clearance=True)

    assert strongest((OPEN, cleared, token)) is token
    assert strongest((OPEN, cleared)) is cleared
    assert strongest((OPEN,)) is OPEN
