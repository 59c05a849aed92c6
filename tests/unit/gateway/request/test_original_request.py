"""The adapter's headers: what is one request, and what is not."""

import pytest

from agentgate.gateway.request.original_request import Malformed, Original, read_original

GOOD = {
    b"x-original-method": b"GET",
    b"x-original-url": b"https://shop.example/search?q=a%20b",
    b"x-original-address": b"203.0.113.9",
}
TRAEFIK = {
    b"x-forwarded-method": b"GET",
    b"x-forwarded-proto": b"https",
    b"x-forwarded-host": b"shop.example",
    b"x-forwarded-uri": b"/search?q=a",
    b"x-forwarded-for": b"198.51.100.7, 203.0.113.9",
}


def read(**changed: bytes) -> Original:
    names = {f"x-original-{name}".encode(): value for name, value in changed.items()}
    return read_original({**GOOD, **names})


def test_the_three_headers_make_the_request() -> None:
    assert read() == Original("GET", "https://shop.example", "/search?q=a%20b", "/search", "203.0.113.9")


@pytest.mark.parametrize(
    ("url", "origin", "target"),
    [
        (b"HTTPS://Shop.Example:443/A", "https://shop.example", "/A"),
        (b"http://shop.example:8080", "http://shop.example:8080", "/"),
        (b"http://[2001:db8::1]/a//b/../c;d", "http://[2001:db8::1]", "/a//b/../c;d"),
        (b"https://shop.example/?#".rstrip(b"#"), "https://shop.example", "/?"),
        (b"https://shop.example/caf\xc3\xa9", "https://shop.example", "/caf\xc3\xa9"),
        # Bytes that are blanks in Latin-1.
        (b"https://shop.example/voil\xc3\xa0?\xc3\x85", "https://shop.example", "/voil\xc3\xa0?\xc3\x85"),
    ],
)
def test_the_origin_is_canonical_and_the_target_is_unchanged(url: bytes, origin: str, target: str) -> None:
    found = read(url=url)

    assert (found.origin, found.target) == (origin, target)


@pytest.mark.parametrize(
    "url",
    [
        b"/search",
        b"//shop.example/",
        b"ftp://shop.example/",
        b"https://user@shop.example/",
        b"https://shop.example/a b",
        b"https://shop.example/#top",
        b"https://shop.example\\evil/",
        b"https://shop.example/, https://shop.example/",
        b"https://",
        b"https://shop.example:99999/",
        b"https://sh_op..example/",
        b"",
    ],
)
def test_what_is_not_a_single_absolute_url_is_blocked(url: bytes) -> None:
    with pytest.raises(Malformed):
        read(url=url)


@pytest.mark.parametrize("method", [b"", b"GET, GET", b"G ET", b"GET\t", b"x" * 33])
def test_what_is_not_a_single_method_is_blocked(method: bytes) -> None:
    with pytest.raises(Malformed):
        read(method=method)


@pytest.mark.parametrize("address", [b"", b"203.0.113.9, 203.0.113.9", b"203.0.113.9:80", b"host", b"fe80::1%eth0"])
def test_what_is_not_a_single_address_is_blocked(address: bytes) -> None:
    with pytest.raises(Malformed):
        read(address=address)


@pytest.mark.parametrize(
    ("address", "canonical"),
    [(b"::ffff:203.0.113.9", "203.0.113.9"), (b"2001:DB8:0:0::1", "2001:db8::1")],
)
def test_one_client_has_one_address(address: bytes, canonical: str) -> None:
    found = read(address=address)

    assert found.address == canonical


@pytest.mark.parametrize("missing", sorted(GOOD))
def test_each_header_is_needed_and_no_other_set_fills_the_gap(missing: bytes) -> None:
    headers = {name: value for name, value in {**GOOD, **TRAEFIK}.items() if name != missing}

    with pytest.raises(Malformed):
        read_original(headers)


def test_the_forwarded_set_is_in_where_no_original_header_came() -> None:
    found = read_original(TRAEFIK)

    assert found == Original("GET", "https://shop.example", "/search?q=a", "/search", "203.0.113.9")


@pytest.mark.parametrize("missing", sorted(TRAEFIK))
def test_the_forwarded_set_must_be_whole(missing: bytes) -> None:
    headers = {name: value for name, value in TRAEFIK.items() if name != missing}

    with pytest.raises(Malformed):
        read_original(headers)


AGREEING = {
    b"x-forwarded-method": b"GET",
    b"x-forwarded-proto": b"HTTPS",
    b"x-forwarded-host": b"shop.example",
    b"x-forwarded-uri": b"/search?q=a%20b",
    b"x-forwarded-for": b"198.51.100.7, 203.0.113.9",
}


def test_a_second_set_that_shows_the_same_is_accepted() -> None:
    assert read_original({**GOOD, **AGREEING}) == read()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("method", b"POST"),
        ("proto", b"http"),
        ("host", b"other.example"),
        ("uri", b"/free"),
        ("uri", b""),
        ("for", b"203.0.113.9, 198.51.100.7"),
        ("method", b"GET, GET"),
    ],
)
def test_a_second_set_that_shows_another_request_is_blocked(name: str, value: bytes) -> None:
    with pytest.raises(Malformed, match="one of the two sets"):
        read_original({**GOOD, **AGREEING, f"x-forwarded-{name}".encode(): value})


@pytest.mark.parametrize(("name", "value"), [("method", b"POST"), ("uri", b"/free")])
def test_a_part_of_a_second_set_is_enough_to_contradict(name: str, value: bytes) -> None:
    with pytest.raises(Malformed, match="one of the two sets"):
        read_original({**GOOD, f"x-forwarded-{name}".encode(): value})


def test_what_a_proxy_on_the_way_reports_its_own_connection_contradicts_nothing() -> None:
    own = {b"x-forwarded-for": b"10.0.0.3", b"x-forwarded-host": b"gate.internal", b"x-forwarded-proto": b"http"}

    assert read_original({**GOOD, **own}) == read()
