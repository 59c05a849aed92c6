"""A visitor cannot forge the adapter's own headers: in no spelling do they reach the service or the site."""

import re
from urllib.parse import unquote

import pytest

from tests.proxies.visiting import BROWSER, ORIGIN, Installed, new_address
from tests.support.browser_client import CHROME

SECRET = "ags_" + "f" * 43
FORGED = {
    "X-AgentGate-Request": "OPTIONS 203.0.113.77 host=shop.example https://shop.example/free",
    "X-AgentGate-Secret": SECRET,
    "X-Original-Method": "OPTIONS",
    "X-Original-Address": "203.0.113.77",
    "X-Original-Body-Digest": "sha-256=:Zm9yZ2Vk:",
    "X-JA4": "t13d1516h2_8daaf6152771_e5627efa2ab1",
    "X-Forwarded-For": "203.0.113.77",
    "X-Forwarded-Method": "OPTIONS",
}
# Headers in AgentGate's own name, which a site trusts.
OURS = {
    "X-Service-Decision": "allow",
    "X-Service-Decision-Id": "dec_forged",
    "X-Service-Reason": "allowed",
    "X-Service-Denial": "block",
}
# Each makes of a header's name what some program on the way reads as that header.
DISGUISES = {
    "as it is": lambda name: name,
    "in small letters": str.lower,
    "in capitals": str.upper,
    "with dots": lambda name: name.replace("-", "."),
    "with underscores": lambda name: name.replace("-", "_"),
    "with one underscore": lambda name: name[::-1].replace("-", "_", 1)[::-1],
    "with the other underscore": lambda name: name.replace("-", "_", 1),
}


def _says(asked, text: str) -> list[str]:
    return [f"{name}: {value}" for name, value in asked.headers if text in value]


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("times", [1, 2])
def test_forged_headers_do_not_change_what_is_judged(installed: Installed, disguise: str, times: int) -> None:
    headers = [(DISGUISES[disguise](name), value) for name, value in FORGED.items() for _ in range(times)]
    address, before, asked = new_address(), len(installed.tap.heard), len(installed.site.asked)

    told = installed.visit("GET", "/page", headers=headers, address=address)

    if installed.tap.heard[before:]:
        check = installed.tap.checks()[-1]
        assert check.original == ("GET", f"{ORIGIN}/page", address)
        assert check.one("x-agentgate-secret") == installed.secret
        assert _says(check, SECRET) == []
    assert told.status in {200, 400, 401, 403}
    for each in installed.site.asked[asked:]:
        assert str(each.one("x-service-decision-id")).startswith("dec_")


@pytest.mark.parametrize("disguise", DISGUISES)
def test_forged_headers_open_no_protected_route(installed: Installed, disguise: str) -> None:
    headers = [(DISGUISES[disguise](name), value) for name, value in (FORGED | OURS).items()]
    before = len(installed.site.asked)

    told = installed.visit("POST", "/login", headers=headers, body=b"user=a")

    assert told.status in {400, 401, 403}
    assert len(installed.site.asked) == before


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("name", OURS)
def test_no_visitor_supports_agentgate(installed: Installed, disguise: str, name: str) -> None:
    before = len(installed.site.asked)

    told = installed.visit("GET", "/page", headers=[(DISGUISES[disguise](name), OURS[name])])

    assert told.status in {200, 400, 403}
    for asked in installed.site.asked[before:]:
        assert _says(asked, "dec_forged") == []
        decided = [text for found, text in asked.headers if found.lower().startswith("x-service-")]
        assert decided == ["allow", asked.one("x-service-decision-id")]


@pytest.mark.parametrize("keeps", ["", "keep-alive, ", "close, "])
def test_headers_named_in_connection_are_not_taken_out_on_the_way(installed: Installed, keeps: str) -> None:
    ours = "X-AgentGate-Request, X-AgentGate-Secret, X-Service-Decision, X-Service-Decision-Id"
    headers = [("Connection", f"{keeps}{ours}, Cookie")]

    told = installed.visit("GET", "/page", headers=headers)

    check = installed.tap.checks()[-1]
    assert check.original[1] == f"{ORIGIN}/page"
    assert check.one("x-agentgate-secret") == installed.secret
    assert told.asked.one("x-service-decision") == "allow"
    assert str(told.asked.one("x-service-decision-id")).startswith("dec_")


def test_headers_named_in_connection_do_not_open_a_protected_route(installed: Installed) -> None:
    headers = [("Connection", "X-AgentGate-Request, X-AgentGate-Secret, X-Forwarded-Method, X-Original-URL")]

    assert installed.visit("POST", "/login", headers=headers, body=b"a=b").status in {400, 401}


def test_the_visitors_own_authorization_goes_to_the_site_and_to_the_service(installed: Installed) -> None:
    told = installed.visit("GET", "/page", headers=[("Authorization", "Basic dXNlcjpwYXNz")])

    assert told.asked.one("authorization") == "Basic dXNlcjpwYXNz"
    assert installed.tap.checks()[-1].one("authorization") == "Basic dXNlcjpwYXNz"


@pytest.mark.parametrize("agent", ["kube-probe/1.29", "GoogleHC/1.0", "ELB-HealthChecker/2.0"])
def test_no_user_agent_is_exempt(installed: Installed, agent: str) -> None:
    usual = [("Host", "shop.example"), ("User-Agent", agent), ("Accept", "*/*")]

    assert installed.visit("POST", "/login", usual=usual, body=b"a=b").status in {401, 403}


@pytest.mark.parametrize("host", ["elsewhere.example", "SHOP.example.", "shop.example:81", "127.0.0.1"])
def test_another_host_does_not_change_whose_site_it_is(installed: Installed, host: str) -> None:
    told = installed.visit("POST", "/login", usual=[("Host", host), *BROWSER[1:]], body=b"a=b")

    assert told.status in {400, 401, 403, 404, 421}
    if told.status == 401:
        assert installed.tap.checks()[-1].original[1] == f"{ORIGIN}/login"


PATHS = [
    "/a%20b?x=%2f",
    "/a%2Fb",
    "/%6cogin",
    "//login",
    "/./login",
    "/x/../login",
    "/x/%2e%2e/login",
    "/login/",
    "/login;a=b",
    "/LOGIN",
    "/login%00",
    "/login%",
    "/caf%C3%A9",
    "/caf\xc3\xa9",
    "/a\\b",
    "/login?",
    "/?a=b?c",
    "/a+b",
    "/a'b\"c",
    "/[x]",
    "/|",
    "//evil.example/login",
    "/.agentgate/../login",
    "/.agentgate%2f..%2flogin",
    "http://shop.example/login",
    "http://other.example/login?x",
    "https://shop.example",
    "http://shop.example?x=1",
    "*",
    "login",
    "/login#part",
    "/login?x#part",
]


def _as_passed_on(proxy: str, url: str) -> str:
    """Return what a proxy makes of a path. The service matches both forms: neither opens what the other closes."""
    if proxy == "caddy":
        # It encodes what should have been.
        return unquote(url, encoding="latin-1")
    if proxy == "apache":
        return re.sub(f"^{ORIGIN}/+", f"{ORIGIN}/", url)
    return url


@pytest.mark.parametrize("target", PATHS)
def test_the_site_gets_what_was_challenged_about(installed: Installed, target: str) -> None:
    asked_before, checked_before = len(installed.site.asked), len(installed.tap.checks())

    told = installed.visit("POST", target, body=b"a=b")

    got = installed.site.asked[asked_before:]
    checked = installed.tap.checks()[checked_before:]
    assert told.status in {200, 400, 401, 403, 404, 503}
    # The request may be blocked. If it reached the site, the target must be the one that the service allowed.
    for asked in got:
        originals = [check.original[1] for check in checked]
        assert [_as_passed_on(installed.proxy, url) for url in originals] == [
            _as_passed_on(installed.proxy, ORIGIN + asked.target)
        ]
    if "login" in target.lower().replace("%6c", "l") and "evil" not in target:
        assert got == []


@pytest.mark.parametrize("method", ["get", "FOO", "OPTIONS", "DELETE", "TRACE", "PROPFIND"])
def test_the_method_that_the_site_gets_is_the_one_that_was_challenged_about(installed: Installed, method: str) -> None:
    asked_before, checked_before = len(installed.site.asked), len(installed.tap.checks())

    installed.visit(method, "/page", usual=[("Host", "shop.example"), ("User-Agent", CHROME), *BROWSER[2:]])

    for asked in installed.site.asked[asked_before:]:
        assert [check.original[0] for check in installed.tap.checks()[checked_before:]] == [asked.method]
