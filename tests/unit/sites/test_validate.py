"""Valid sites: origins as browsers send them, names with visible characters, routes that fit."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from agentgate.lib.enums import Mode, WidgetMode
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.sites.records import Site, SiteAction, SiteRoute
from agentgate.sites.validate import canonical_origin, canonical_origins, check_site, feeds_to_declare

LONGEST = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])

GOOD = {
    "https://shop.example": "https://shop.example",
    "http://shop.example": "http://shop.example",
    "https://shop.example:8443": "https://shop.example:8443",
    "https://shop.example:65535": "https://shop.example:65535",
    "https://shop.example:1": "https://shop.example:1",
    # Upper case, default ports and leading zeros are what people write and browsers do not send.
    "https://Shop.EXAMPLE": "https://shop.example",
    "HTTPS://shop.example": "https://shop.example",
    "https://shop.example:443": "https://shop.example",
    "http://shop.example:80": "http://shop.example",
    "http://shop.example:443": "http://shop.example:443",
    "https://shop.example:80": "https://shop.example:80",
    "https://shop.example:0443": "https://shop.example",
    "https://shop.example:08080": "https://shop.example:8080",
    # Another host, however it ends.
    "https://good.example.evil": "https://good.example.evil",
    "http://localhost": "http://localhost",
    "http://localhost:3000": "http://localhost:3000",
    "https://a": "https://a",
    "https://a-b.example": "https://a-b.example",
    "https://_dev.example": "https://_dev.example",
    "https://1a.example": "https://1a.example",
    "https://123.example": "https://123.example",
    "https://0x7f.example": "https://0x7f.example",
    "https://xn--bcher-kva.example": "https://xn--bcher-kva.example",
    f"https://{LONGEST}": f"https://{LONGEST}",
    # Other scripts, as browsers put them on the wire.
    "https://bücher.example": "https://xn--bcher-kva.example",
    "https://BÜCHER.example": "https://xn--bcher-kva.example",
    "https://bu\u0308cher.example": "https://xn--bcher-kva.example",
    "https://faß.example": "https://xn--fa-hia.example",
    "https://例え.テスト": "https://xn--r8jz45g.xn--zckzah",
    "https://пример.example:8080": "https://xn--e1afmkfd.example:8080",
    # Addresses.
    "http://127.0.0.1": "http://127.0.0.1",
    "http://127.0.0.1:8080": "http://127.0.0.1:8080",
    "http://255.255.255.255": "http://255.255.255.255",
    "http://[::1]": "http://[::1]",
    "http://[::1]:8080": "http://[::1]:8080",
    "http://[0:0:0:0:0:0:0:1]": "http://[::1]",
    "http://[2001:DB8::1]": "http://[2001:db8::1]",
    "http://[2001:0db8:0000:0000:0001:0000:0000:0001]": "http://[2001:db8::1:0:0:1]",
    "http://[2001:db8:0:1:1:1:1:1]": "http://[2001:db8:0:1:1:1:1:1]",
    "http://[::ffff:1.2.3.4]": "http://[::ffff:102:304]",
}

BAD = [
    "",
    "null",
    "*",
    "https://*",
    "https://*.example",
    "shop.example",
    "//shop.example",
    "https:shop.example",
    "https:/shop.example",
    "https:///shop.example",
    "https://",
    "https://:443",
    "://shop.example",
    "ftp://shop.example",
    "ws://shop.example",
    "file:///etc/passwd",
    "javascript://shop.example",
    "http\u017f://shop.example",
    "https ://shop.example",
    "https://shop.example/",
    "https://shop.example/path",
    "https://shop.example?",
    "https://shop.example?x",
    "https://shop.example#",
    "https://shop.example#x",
    "https://shop.example.",
    "https://.shop.example",
    "https://shop..example",
    "https://user@shop.example",
    "https://user:pass@shop.example",
    "https://@shop.example",
    "https://shop.example@evil.example",
    "https://shop.example\\",
    "https:\\\\shop.example",
    "https://evil.example\\.shop.example",
    "https://shop.example\t",
    "https://shop\t.example",
    "\thttps://shop.example",
    "https://shop.example\n",
    "https://shop\n.example",
    "https://shop.example\r\nX: y",
    " https://shop.example",
    "https://shop.example ",
    "https://shop .example",
    "https://shop.example\0",
    "\0https://shop.example",
    "https://shop\ud800.example",
    "https://shop%2eexample",
    "https://shop.example%00",
    "https://shop.example, https://other.example",
    "https://shop.example https://other.example",
    "https://shop.example:",
    "https://shop.example:0",
    "https://shop.example:00",
    "https://shop.example:65536",
    "https://shop.example:99999",
    "https://shop.example:443443",
    "https://shop.example:-1",
    "https://shop.example:+443",
    "https://shop.example:44 3",
    "https://shop.example:4_4",
    "https://shop.example:\u0664\u0664\u0663",
    "https://shop.example:http",
    "https://shop.example:443:443",
    "https://-shop.example",
    "https://shop-.example",
    "https://shop!.example",
    "https://<script>.example",
    'https://"shop".example',
    f"https://{'a' * 64}.example",
    f"https://{LONGEST}d",
    "https://" + "a." * 5_000 + "example",
    "https://" + "ü" * 5_000,
    "https://\u00adshop.example",
    "https://sh\u200bop.example",
    "https://shop\u202e.example",
    "https://☃.example",
    "https://xn--",
    "https://\u0300a.example",
    "http://127.1",
    "http://127.0.1",
    "http://127.0.0.1.",
    "http://127.0.0.01",
    "http://0177.0.0.1",
    "http://0x7f.1",
    "http://0x7f000001",
    "http://0X7F000001",
    "http://0x7f.0x0.0x0.0x1",
    "http://shop.0x7f",
    "http://shop.0x",
    "http://2130706433",
    "http://256.0.0.1",
    "http://1.2.3.4.5",
    "http://1.2.3",
    "http://shop.127",
    "http://...",
    "http://[]",
    "http://[::1",
    "http://::1",
    "http://::1:8080",
    "http://[::1]x",
    "http://[::1]evil.example",
    "http://evil.example[::1]",
    "http://[::1]:",
    "http://[::1]]",
    "http://[[::1]]",
    "http://[::1%25eth0]",
    "http://[fe80::1%eth0]",
    "http://[1.2.3.4]",
    "http://[::g]",
    "http://[1::2::3]",
    "http://[v1.x]",
    "http://[12345::]",
]


@pytest.mark.parametrize(("origin", "canonical"), GOOD.items())
def test_an_origin_gets_the_one_spelling_that_browsers_send(origin: str, canonical: str) -> None:
    assert canonical_origin(origin) == canonical
    assert canonical_origin(canonical) == canonical


@pytest.mark.parametrize("origin", BAD)
def test_what_is_not_an_origin_is_rejected_with_an_example_of_one(origin: str) -> None:
    with pytest.raises(Refused) as caught:
        canonical_origin(origin)

    assert caught.value.code == "invalid_site"
    assert "https://www.example.com" in caught.value.message


# What origins are made of, and what only looks like it: full stops, a joiner and a hyphen that other scripts have.
_ASCII = [
    "https://",
    "http://",
    "a",
    "B",
    ".",
    ":",
    "8080",
    "443",
    "0x1f",
    "127",
    "1",
    "[",
    "]",
    "::1",
    "-",
    "_",
    "xn--",
]
_ODD = ["@", "/", "\\", "%", "*", "\t", "é", "ß", "例", "\u3002", "\uff0e", "\u200d", "\u00ad", "\ud800"]
_PIECES = st.sampled_from([*_ASCII, *_ODD])


@given(st.text() | st.lists(_PIECES, max_size=8).map("".join))
@settings(deadline=None, max_examples=400)
def test_no_text_does_anything_but_become_canonical_or_be_rejected(text: str) -> None:
    try:
        origin = canonical_origin(text)
    except Refused as refused:
        codes = {refused.code}
    else:
        codes = set()
        assert canonical_origin(origin) == origin
        assert origin.isascii()
        assert origin == origin.lower()
    assert codes <= {"invalid_site"}


def test_equal_origins_are_kept_once_and_in_order() -> None:
    assert canonical_origins(["https://b.example", "https://A.example:443", "https://a.example"]) == [
        "https://b.example",
        "https://a.example",
    ]


def test_more_origins_than_a_site_may_have_are_rejected_before_each_is_inspected() -> None:
    with pytest.raises(Refused, match="invalid_site") as caught:
        canonical_origins(["no origin at all"] * 101)

    assert "at most 100" in caught.value.message


SITE = Site(
    id="st_1",
    customer_id="acc_1",
    site_key="site_shop",
    name="Shop",
    allowed_origins=[],
    mode=Mode.MONITOR,
    widget_mode=WidgetMode.INVISIBLE,
    actions={"login": SiteAction(browser_required=True)},
    routes=[],
    form_method_override=True,
    clearance_without_script=False,
    created_at=Moment(0),
    updated_at=Moment(0),
)


def route(**changes: Any) -> SiteRoute:
    return SiteRoute(**({"method": "POST", "action": "login", "path": "/login"} | changes))


@pytest.mark.parametrize(
    "good",
    [
        route(),
        route(method="*"),
        route(method="PROPFIND"),
        route(path="/"),
        route(path="/a/b%20c;d=e"),
        route(path="/" + "a" * 1023),
        route(path=UNSET, path_prefix="/api/"),
    ],
)
def test_a_route_that_fits(good: SiteRoute) -> None:
    check_site(replace(SITE, routes=[good]))


@pytest.mark.parametrize(
    ("bad", "part"),
    [
        (route(method="post"), "routes[1].method"),
        (route(method=""), "routes[1].method"),
        (route(method="POST\n"), "routes[1].method"),
        (route(method="P" * 21), "routes[1].method"),
        (route(method="GET,POST"), "routes[1].method"),
        (route(path=UNSET), "routes[1] must have exactly one"),
        (route(path_prefix="/x"), "routes[1] must have exactly one"),
        (route(path=""), "routes[1]: a path"),
        (route(path="login"), "routes[1]: a path"),
        (route(path="/a b"), "routes[1]: a path"),
        (route(path="/a\n"), "routes[1]: a path"),
        (route(path="/a?b"), "routes[1]: a path"),
        (route(path="/a#b"), "routes[1]: a path"),
        (route(path="/a\\b"), "routes[1]: a path"),
        (route(path="/é"), "routes[1]: a path"),
        (route(path="/\0"), "routes[1]: a path"),
        (route(path="/" + "a" * 1024), "routes[1]: a path"),
        (route(path=UNSET, path_prefix="x"), "routes[1]: a path"),
        (route(action="unknown"), "routes[1].action"),
        (route(action="Login"), "routes[1].action"),
    ],
)
def test_a_route_that_does_not_fit_is_rejected_with_its_place(bad: SiteRoute, part: str) -> None:
    with pytest.raises(Refused) as caught:
        check_site(replace(SITE, routes=[route(), bad]))

    assert caught.value.code == "invalid_site"
    assert caught.value.message.startswith(part)


@pytest.mark.parametrize("name", ["", "Log in", "Login", "a" * 65, "login\n", "lögin", "a-b", "a.b", "\0", "\u0661"])
def test_an_action_name_is_lower_case_letters_digits_and_underscores(name: str) -> None:
    with pytest.raises(Refused, match="invalid_site"):
        check_site(replace(SITE, actions={name: SiteAction(browser_required=True)}))


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        (lambda count: {"allowed_origins": [f"https://a{number}" for number in range(count)]}, 100),
        (lambda count: {"actions": {f"a{number}": SiteAction(browser_required=True) for number in range(count)}}, 100),
        (lambda count: {"routes": [route()] * count}, 500),
    ],
)
def test_a_site_has_at_most_so_many_of_each(changes: Any, most: int) -> None:
    check_site(replace(SITE, **changes(most)))

    with pytest.raises(Refused) as caught:
        check_site(replace(SITE, **changes(most + 1)))

    assert f"at most {most} entries" in caught.value.message


def test_a_surface_may_allow_fewer_origins() -> None:
    with pytest.raises(Refused, match="invalid_site"):
        check_site(replace(SITE, allowed_origins=["https://a", "https://b"]), most_origins=1)


@pytest.mark.parametrize(
    ("known", "linked", "offered"),
    [
        ([], ["/feed", "/rss.xml"], []),
        ([], ["/blog/feed", "/feed"], ["/blog/feed", "/feed"]),
        (["/own"], ["/own"], []),
        (["/own"], ["/feed"], ["/own", "/feed"]),
        ([f"/{number}" for number in range(20)], ["/feed"], []),
    ],
)
def test_the_feeds_to_declare_keep_declared_ones_and_name_root_feeds(
    known: list[str], linked: list[str], offered: list[str]
) -> None:
    assert feeds_to_declare(known, linked) == offered
