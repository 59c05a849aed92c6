"""What all guards share: where the token is found in a form, and which requests a route covers."""

import pytest

from agentgate_client import Route
from agentgate_client.guarding import find_field, is_form

MULTIPART = "multipart/form-data; boundary=xyz"


def part(name, value, extra=""):
    return f'--xyz\r\nContent-Disposition: form-data; name="{name}"{extra}\r\n\r\n{value}\r\n'


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("name=ann&agentgate-token=a.b.c&x=", "application/x-www-form-urlencoded"),
        ("agentgate-token=&agentgate-token=a.b.c", "application/x-www-form-urlencoded; charset=utf-8"),
        (part("name", "ann") + part("agentgate-token", "a.b.c") + "--xyz--\r\n", MULTIPART),
        (part("agentgate-token", "a.b.c") + "--xyz--", 'multipart/form-data; boundary="xyz"'),
        ("preamble\r\n" + part("agentgate-token", "a.b.c").replace('"', "") + "--xyz--", MULTIPART),
    ],
)
def test_the_field_is_found(body, content_type):
    assert is_form(content_type)
    assert find_field(body.encode(), content_type) == "a.b.c"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("name=agentgate-token", "application/x-www-form-urlencoded"),
        ("&" * 20_000 + "agentgate-token=a.b.c", "application/x-www-form-urlencoded"),
        (part("agentgate-token", "a.b.c", '; filename="x"') + "--xyz--", MULTIPART),
        (part("other-agentgate-token", "a.b.c") + "--xyz--", MULTIPART),
        (part("name", 'name="agentgate-token"\r\n\r\na.b.c') + "--xyz--", MULTIPART),
        (part("agentgate-token", "a.b.c"), "multipart/form-data"),
        ("", MULTIPART),
    ],
)
def test_what_only_looks_like_the_field_is_not_found(body, content_type):
    assert find_field(body.encode(), content_type) == ""


@pytest.mark.parametrize("content_type", ["", "application/json", "text/plain", "multipart/mixed; boundary=x"])
def test_other_bodies_are_not_searched(content_type):
    assert not is_form(content_type)


@pytest.mark.parametrize(
    ("route", "method", "path"),
    [
        (Route("POST", "/signup", "signup"), "POST", "/signup"),
        (Route("POST", "/signup", "signup"), "post", "/signup/"),
        (Route("POST", "/signup", "signup"), "POST", "//signup"),
        (Route("GET", "/search", "search"), "HEAD", "/search"),
        (Route("*", "/api/*", "api"), "DELETE", "/api/orders/7"),
        (Route("*", "/api/*", "api"), "GET", "/api"),
        (Route("*", "/*", "all"), "GET", "/"),
        (Route("GET", "/", "home"), "GET", "/"),
    ],
)
def test_a_route_covers_the_request(route, method, path):
    assert route.matches(method, path)


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/signup"), ("POST", "/signup2"), ("POST", "/signup/now"), ("POST", "/")]
)
def test_a_route_does_not_cover_others(method, path):
    assert not Route("POST", "/signup", "signup").matches(method, path)


def test_a_prefix_ends_at_a_slash_and_a_path_starts_with_one():
    assert not Route("*", "/api/*", "api").matches("GET", "/apix")
    with pytest.raises(ValueError, match="is not a path"):
        Route("POST", "signup", "signup")
