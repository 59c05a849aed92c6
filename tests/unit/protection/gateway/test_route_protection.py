"""Which protection a request has, however its path is written."""

from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgate.protection.gateway.route_protection import CLOSED, OPEN, override_of, protection_of, readings_of
from agentgate.protection.sites import test_keys
from agentgate.protection.sites.directory import SiteView
from agentgate.protection.sites.records import SiteAction, SiteRoute
from agentgate.protection.sites.routes import RouteTable


def site_with(*routes: tuple[str, str, str]) -> SiteView:
    """Return a site with routes of (method, path or prefix*, action); actions named `open*` need nothing."""
    made = [
        SiteRoute(method=method, action=action, path_prefix=path[:-1])
        if path.endswith("*")
        else SiteRoute(method=method, action=action, path=path)
        for method, path, action in routes
    ]
    table = RouteTable(made)
    actions = {action: SiteAction(browser_required=not action.startswith("open")) for _, _, action in routes}
    view = next(iter(test_keys.testing_sites().values()))
    return msgspec.structs.replace(view, actions=actions, routes=table, folded_routes=table.folded())


SITE = site_with(
    ("POST", "/login", "login"),
    ("GET", "/Account/Home", "account"),
    ("*", "/admin/*", "admin"),
    ("GET", "/search", "open_search"),
)


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
        ("POST", "\\login".replace("\\", "/"), "login"),
        ("POST", "/a\\..\\login", "login"),
        ("GET", "/account/home", "account"),
        ("HEAD", "/Account/Home", "account"),
        ("DELETE", "/admin/users/1", "admin"),
        ("GET", "/public/%2e%2e/admin/users", "admin"),
        ("GET", "/admin;x/../admin/users", "admin"),
        ("GET", "/a//../admin/users", "admin"),
        ("POST", "/%4cOGIN", "login"),
        ("POST", "/%256c%254f%2567%2549%254e", "login"),
        ("POST", "/login%3fx=1", "login"),
        ("POST", "/login%23", "login"),
        ("GET", "/%2561dmin/%C3%A9", "admin"),
        ("GET", "//admin;a=/..//7", "admin"),
    ],
)
def test_no_spelling_of_a_protected_path_is_open(method: str, path: str, action: str) -> None:
    found = protection_of(SITE, method, path)

    assert (found.action, found.required) == (action, True)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/login"), ("GET", "/"), ("POST", "/log"), ("GET", "/administration"), ("GET", "/x/login.html")],
)
def test_what_no_server_could_take_for_a_protected_path_is_open(method: str, path: str) -> None:
    assert protection_of(SITE, method, path) == OPEN


def test_an_action_that_needs_nothing_is_named_and_open() -> None:
    found = protection_of(SITE, "GET", "/search")

    assert (found.route, found.action, found.required) == ("/search", "open_search", False)


@pytest.mark.parametrize("path", ["/%", "/%zz", "/a%0", "/%00", "/%ff%fe", "/\xff", "/a%0d%0ab"])
def test_a_path_that_cannot_be_decoded_is_protected(path: str) -> None:
    assert protection_of(SITE, "GET", path) == CLOSED


@pytest.mark.parametrize("method", ["get", "PROPFIND", "GETX", "post"])
def test_an_unknown_method_is_protected(method: str) -> None:
    assert protection_of(SITE, method, "/anything") == CLOSED


def test_a_method_that_a_framework_may_take_over_counts() -> None:
    assert protection_of(SITE, "GET", "/login", override="POST").action == "login"
    assert protection_of(SITE, "GET", "/login", override="nonsense") == CLOSED


def test_a_site_without_routes_protects_nothing_by_route() -> None:
    assert protection_of(site_with(), "get", "/%zz") == OPEN


@given(
    st.lists(
        st.sampled_from(["encode", "encode twice", "slash", "dot", "detour", "parameter", "case", "end"]), max_size=4
    ),
    st.integers(0, 10),
)
def test_protection_survives_every_mixture_of_spellings(steps: list[str], place: int) -> None:
    path = "/admin/users"
    for step in steps:
        path = _spell(path, step, place)

    assert protection_of(SITE, "GET", path).required, path


def _spell(path: str, step: str, place: int) -> str:
    at = place % len(path)
    character = path[at]
    if step.startswith("encode"):
        if character in "%/;":
            return path
        sign = "%" if step == "encode" else "%25"
        return f"{path[:at]}{sign}{ord(character):02x}{path[at + 1 :]}"
    if step == "case":
        return path if "%" in path else path.upper()
    before, after = {
        "slash": ("/", ""),
        "dot": ("/.", ""),
        "detour": ("/x/..", ""),
        "parameter": ("", ";v=1"),
        "end": ("", "/"),
    }[step]
    return before + path + after


@given(st.text(alphabet=st.characters(codec="latin-1"), max_size=80))
def test_reading_any_path_ends_and_keeps_the_path_itself_first(text: str) -> None:
    path = "/" + text
    readings, _ = readings_of(path)

    assert readings[0] == path
    assert len(readings) < 200
    assert len(readings_of("/" + quote(text))[0]) < 200


@pytest.mark.parametrize("path", ["/sale/100%25", "/100%25-wool", "/a%25b%25"])
def test_an_escaped_percent_sign_is_a_plain_part_of_a_path(path: str) -> None:
    assert protection_of(SITE, "GET", path) == OPEN


@pytest.mark.parametrize("path", ["/100%", "/%zz", "/%25u0061dmin/x", "/%25ff", "/%2500"])
def test_what_cannot_be_decoded_is_protected(path: str) -> None:
    assert protection_of(SITE, "GET", path) == CLOSED


def test_every_header_that_overrides_the_method_counts_and_an_empty_one_too():
    both = {b"x-http-method-override": b"POST", b"accept": b"*/*", b"x-method-override": b"PUT"}

    assert override_of({b"accept": b"*/*"}) is None
    assert override_of(both) == "POST,PUT"
    assert override_of({b"x-http-method": b""}) == ""
    assert protection_of(SITE, "GET", "/login", override=override_of({b"x-http-method": b""})) == CLOSED
