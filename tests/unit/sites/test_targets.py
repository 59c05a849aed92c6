"""Targets: what is plain, and which routes an odd target could be (contract, section 9)."""

import time

import pytest

from agentgate.sites.records import SiteRoute
from agentgate.sites.route_table import RouteTable
from agentgate.sites.targets import is_plain

TABLE = RouteTable(
    [
        SiteRoute(method="*", action="pay", path="/pay"),
        SiteRoute(method="GET", action="users", path="/admin/users"),
        SiteRoute(method="*", action="tasks", path="/tasks"),
        SiteRoute(method="*", action="api", path_prefix="/api/"),
        SiteRoute(method="*", action="report", path_prefix="/report"),
        SiteRoute(method="*", action="cafe", path="/caf%C3%A9"),
        SiteRoute(method="*", action="upper", path="/Checkout"),
    ]
)
GET = frozenset({"GET"})


def nested(depth: int) -> bytes:
    """Return an escape within an escape, of two kinds in turn, so that no decoder takes more than one at a time."""
    text = b"a"
    for level in range(depth):
        text = b"".join(b"%%%02x" % byte if level % 2 else b"%%u00%02x" % byte for byte in text[:1]) + text[1:]
    return text


def actions(target: bytes, host: bytes = b"www.example.org", table: RouteTable = TABLE) -> list[str | None]:
    return [matched.action for matched in table.matches(GET, target, host)]


PLAIN = (
    b"/",
    b"/about",
    b"/about/",
    b"/a/b/c.html",
    b"/.well-known/security.txt",
    b"/..hidden",
    b"/v1.0/x",
    b"/a%20b",
    b"/a+b",
    b"/a%2Bb",
    b"/r%C3%A9sum%C3%A9",
    b"/voil\xc3\xa0",
    b"/VOIL\xc3\x80",
    b"/stra\xc3\x9fe",
    b"/%E6%97%A5%E6%9C%AC",
    b"/\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae",
    b"/\xe2\x9d\xa4\xef\xb8\x8f",
    b"/@user/status",
    b"/a,b:c=d&e!f$g'(h)*i",
    b"/a%26b%3Dc",
    b"/~user/x_y-z",
    b"/%5Bid%5D",
    b"/[id]",
    b"/a|b",
    b"/" + b"long/" * 400,
    b"/" + b"x" * 8_000,
)
ODD = (
    b"",
    b"*",
    b"pay",
    b"//",
    b"//pay",
    b"/a//b",
    b"/./a",
    b"/a/.",
    b"/a/..",
    b"/a.",
    b"/a./b",
    b"/a%20",
    b"/a%20/b",
    b"/a b",
    b"/a+",
    b"/+a",
    b"/%20a",
    b"/a\\b",
    b"/a;b",
    b"/a#b",
    b"/a\x00",
    b"/a\x7f",
    b"/%",
    b"/%2",
    b"/%zz",
    b"/%61",
    b"/%30",
    b"/%2d",
    b"/%2E",
    b"/%5f",
    b"/%7e",
    b"/%2f",
    b"/%5C",
    b"/%3b",
    b"/%25",
    b"/%3F",
    b"/%23",
    b"/%00",
    b"/%0a",
    b"/%7f",
    b"/%u0061",
    b"/\xff",
    b"/%ff",
    b"/%c0%af",
    b"/%C5%BF",
    b"/\xef\xbd\x90",
    b"/%C2%85",
    b"/%C2%A0",
    b"/e\xcc\x81",
    b"/\xe2\x80\xa8",
)


@pytest.mark.parametrize("path", PLAIN)
def test_an_ordinary_path_is_plain(path: bytes):
    assert is_plain(path)


@pytest.mark.parametrize("path", ODD)
def test_a_path_that_servers_read_differently_is_odd(path: bytes):
    assert not is_plain(path)


@pytest.mark.parametrize(
    ("repeated", "end"),
    [
        (b"a", b";"),
        (b"/a", b";"),
        (b"/a", b"//"),
        (b"/%ff", b"%"),
        (b"%ff", b"%"),
        (b"a%C3%A9", b"."),
        (b"%20", b""),
        (b"+", b""),
        (b".", b""),
        (b"/a.b", b"/."),
    ],
)
def test_an_odd_path_is_found_in_linear_time(repeated: bytes, end: bytes):
    path = b"/a" + repeated * (65_536 // len(repeated)) + end

    started = time.process_time()
    assert not is_plain(path)

    # It takes about 10 ms. In quadratic time it would take minutes.
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (b"/pay", ["pay"]),
        (b"/PAY", ["pay"]),
        (b"/pay/", ["pay"]),
        (b"/Pay/?x=1", ["pay"]),
        (b"/payment", []),
        (b"/x/pay", []),
        (b"/x?next=/pay", []),
        (b"/admin/users", ["users"]),
        (b"/api", ["api"]),
        (b"/API/orders", ["api"]),
        (b"/reports", ["report"]),
        (b"/Reports", ["report"]),
        (b"/caf%C3%A9", ["cafe"]),
        (b"/caf%c3%a9", ["cafe"]),
        (b"/caf\xc3\xa9", ["cafe"]),
        (b"/CAF%C3%89/", ["cafe"]),
        (b"/checkout", ["upper"]),
        (b"/Checkout", ["upper"]),
        (b"/p\xe2\x80\x8bay", ["pay"]),
        (b"/pa\xc2\xady", ["pay"]),
    ],
)
def test_a_plain_target_is_matched_as_it_is_and_folded(target: bytes, expected: list[str]):
    assert is_plain(target.partition(b"?")[0])
    assert actions(target) == expected


def test_a_closing_slash_more_or_less_is_the_same_path_where_every_route_is_of_small_letters():
    table = RouteTable(
        [SiteRoute(method="*", action="pay", path="/pay"), SiteRoute(method="*", action="hub", path="/hub/")]
    )

    assert [actions(target, table=table) for target in (b"/pay", b"/pay/", b"/hub", b"/hub/")] == [
        ["pay"],
        ["pay"],
        ["hub"],
        ["hub"],
    ]


@pytest.mark.parametrize(
    "target",
    [
        b"/p%61y",
        b"//x/pay",
        b"/\\x/pay",
        b"/pay;a=b/..",
        b"/%e9/../pay",
        b"/pay;%ff",
        b"/pay%ff",
        b"/pay;a",
        b"/x/../pay",
        b"///x/pay",
        b"//u@x/pay",
        b"//x:80/pay",
        b"//[::1]/pay",
        b"//%78/pay",
        b"/p%2561y",
        b"/p%25252561y",
        b"/p%25%36%31y",
        b"/p%u0061y",
        b"/p%25u0061y",
        b"/p%c1%a1y",
        b"/p%e0%81%a1y",
        b"/p%c1%a1y%e9/x",
        b"/p%f0%80%81%a1y",
        b"/p%f8%80%80%81%a1y",
        b"/p%c1!y",
        b"/p%c0%a561y",
        b"/p%aay",
        b"/p%EF%BD%81y",
        b"/p%EF%BC%85%EF%BC%96%EF%BC%91y",
        b"/p\xcc\x81/../pay",
        b"/pay%00",
        b"/pay%00.html",
        b"/p%00ay",
        b"/p%09ay%00/x",
        b"/p%E2%80%8Bay;",
        b"/.%E2%80%8B/pay%E2%80%8Bx",
        b"/pay.",
        b"/pay%20",
        b"/pay%C2%A0",
        b"/pay%85",
        b"/pay+",
        b"/%20pay",
        b"/pay%2f",
        b"/pay%3fx",
        b"/pay%23x",
        b"/x%2f..%5cpay",
        b"/pay::$DATA;",
        b"/pay%e2%89%a0;",
        b"/pay%",
        b"/pay%zz",
        b"/;?/pay",
        b"/a;?x=%2Fpay",
        b"pay",
        b"/%70%61%79",
        b"/" + b"%25" * 5 + b"/../pay",
    ],
)
def test_an_odd_target_could_be_the_route_that_it_names(target: bytes):
    assert not is_plain(target.partition(b"?")[0])
    assert actions(target) == ["pay"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (b"/admin/us%u0065rs", ["users"]),
        (b"/admin/x/../users", ["users"]),
        (b"/admin;/users;", ["users"]),
        # Not in their order, and not as whole words.
        (b"/users/../admin", []),
        (b"/admins/users;", []),
        (b"/paypal;x", []),
        (b"/x-pay;", []),
        (b"/task%C5%BF", ["tasks"]),
        (b"/TAS%E2%84%AAS;", ["tasks"]),
        (b"/AP%C4%B0/", ["api"]),
        (b"/ap%C4%B1/x/..", ["api"]),
        (b"/AP%C4%B0/x/..", ["api"]),
        # A prefix that ends within a word.
        (b"/report%73-2026", ["report"]),
        (b"/re%00ports", ["report"]),
        (b"/my-report;", []),
        (b"/api;x", ["api"]),
        (b"/apix;", []),
        (b"/caf%E9;", ["cafe"]),
        (b"/cafe%CC%81", ["cafe"]),
        (b"/%e9", []),
        (b"/voil\xe0", []),
        (b"/a//b;c", []),
    ],
)
def test_an_odd_target_is_compared_with_whole_words_in_their_order(target: bytes, expected: list[str]):
    assert actions(target) == expected


def test_the_host_of_an_odd_target_is_searched():
    assert actions(b"/;", b"x/pay?") == ["pay"]
    assert actions(b"/users;", b"x/admin") == ["users"]
    assert actions(b"/about", b"pay.example.org") == []


def test_the_root_and_a_catch_all_could_be_any_odd_target():
    table = RouteTable(
        [
            SiteRoute(method="*", action="root", path="/"),
            SiteRoute(method="*", action="all", path_prefix="/"),
            SiteRoute(method="POST", action="post", path="/x"),
        ]
    )

    assert actions(b"/a;b", table=table) == ["root", "all"]
    assert actions(b"/x;", table=table) == ["root", "all"]
    assert actions(b"/", table=table) == ["root"]
    assert actions(b"/x", table=table) == ["all"]


def test_a_route_within_a_catch_all_stands_alone_for_its_plain_target():
    table = RouteTable(
        [
            SiteRoute(method="*", action="all", path_prefix="/"),
            SiteRoute(method="*", action="health", path="/health"),
            SiteRoute(method="*", action="docs", path="/docs/"),
        ]
    )

    assert actions(b"/health", table=table) == ["health"]
    assert actions(b"/docs/", table=table) == ["docs"]
    assert actions(b"/Health", table=table) == ["all", "health"]
    assert actions(b"/health/", table=table) == ["all", "health"]
    assert actions(b"/docs", table=table) == ["all", "docs"]
    assert actions(b"/heal%74h", table=table) == ["health", "all"]


def test_every_route_that_a_target_could_be_is_returned():
    table = RouteTable(
        [
            SiteRoute(method="GET", action="small", path="/pay"),
            SiteRoute(method="*", action="large", path="/PAY"),
            SiteRoute(method="*", action="slash", path="/pay/"),
            SiteRoute(method="*", action="below", path_prefix="/pay/"),
        ]
    )

    assert actions(b"/PAY", table=table) == ["large", "slash", "small"]
    assert actions(b"/pay", table=table) == ["small", "slash"]
    assert set(actions(b"/p%61y", table=table)) == {"small", "large", "slash", "below"}


def test_a_named_method_goes_before_any_method_and_an_unknown_one_could_be_each():
    table = RouteTable(
        [
            SiteRoute(method="*", action="any", path="/x"),
            SiteRoute(method="POST", action="post", path="/x"),
            SiteRoute(method="DELETE", action="delete", path_prefix="/x"),
            SiteRoute(method="POST", action="second", path="/x"),
        ]
    )

    assert [each.action for each in table.matches(frozenset({"POST"}), b"/x")] == ["post"]
    assert [each.action for each in table.matches(frozenset({"POST", "PUT"}), b"/x")] == ["any", "post"]
    assert {each.action for each in table.matches(None, b"/x")} == {"any", "post"}
    assert {each.action for each in table.matches(None, b"/x/y")} == {"delete"}
    assert {each.action for each in table.matches(None, b"/x;")} == {"any", "post", "delete"}
    assert {each.action for each in table.matches(frozenset({"GET"}), b"/x;")} == {"any"}


@pytest.mark.parametrize(
    "path",
    [
        b"/a;b",
        b"/a//b",
        b"/%61",
        b"/caf%E9",
        b"/a%00b",
        b"/100%25",
        b"/a%2Fb",
        b"/x/../y",
        b"/%E9",
        b"/a%C2%ADb",
        b"/%",
    ],
)
@pytest.mark.parametrize("is_prefix", [False, True])
def test_a_route_is_observed_by_its_own_spelling(path: bytes, is_prefix: bool):
    kind = "path_prefix" if is_prefix else "path"
    table = RouteTable([SiteRoute(method="*", action="own", **{kind: path.decode()})])

    assert actions(path, table=table) == ["own"]


@pytest.mark.parametrize(
    "target",
    [
        b"/;" + b"x" * 20_000,
        b"/\\" + b"a/" * 2_000,
        b"/" + nested(20),
        b"/\\" + b"a\x00" * 500,
        b"/\\" + b"\xe9a" * 600,
        b"/;" + "é".encode() * 3_000,
    ],
)
def test_a_target_beyond_the_bounds_could_be_any_route(target: bytes):
    assert len(actions(target)) == 7
