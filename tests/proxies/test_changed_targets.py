"""How each proxy changes targets, as docs/reverse-proxies.md lists it; everything else is passed on unchanged."""

import pytest

from tests.proxies.visiting import ORIGIN, Installed

# Changed before the proxy queries AgentGate: AgentGate and the site get the same target.
CHANGED_FOR_BOTH = {
    "traefik": {
        "//a": "/a",
        "/a//b": "/a/b",
        "/.": "/",
        "/a/./b": "/a/b",
        "/a/../b": "/b",
        "/a/%2e%2e/b": "/b",
        "/a/.": "/a",
        "///%61": "/a",
        "//x/../a": "/a",
        "/%2D": "/-",
        "/%7E": "/~",
        "/%41": "/A",
        "/a%2fb": "/a%2Fb",
        "/%c3%a0": "/%C3%A0",
        "/a|b": "/a%7Cb",
        "/a\\b": "/a%5Cb",
        '/^`{}"<>': "/%5E%60%7B%7D%22%3C%3E",
        "/\xc3\xa0": "/%C3%A0",
        "/a?b;c": "/a?b&c",
    },
}
# Changed after the proxy queried AgentGate: AgentGate gets the original target.
CHANGED_FOR_THE_SITE = {
    "caddy": {
        "/a|b": "/a%7Cb",
        "/a\\b": "/a%5Cb",
        '/^`{}"<>': "/%5E%60%7B%7D%22%3C%3E",
        "/\xc3\xa0": "/%C3%A0",
    },
    "apache": {"//a": "/a", "///%61": "/a", "//x/../a": "/a"},
}
UNCHANGED = [
    "/",
    "/a/",
    "/a%2Fb",
    "/a%5Cb",
    "/%20",
    "/a;b=c/d",
    "/a?b=%41",
    "/a??",
    "/[x]",
    "/a+b",
    "/a?x=[|]",
    "/a:b@c,d!",
]
TARGETS = sorted({*UNCHANGED, *(target for table in CHANGED_FOR_BOTH.values() for target in table)})
REFUSES_RAW_BYTES = {"haproxy", "envoy"}


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_continues_as_it_came_or_as_in_the_documentation(installed: Installed, target: str) -> None:
    asked, checked = len(installed.site.asked), len(installed.tap.checks())

    told = installed.visit("GET", target)

    if not target.isascii() and installed.proxy in REFUSES_RAW_BYTES:
        assert told.status == 400
        return
    judged = CHANGED_FOR_BOTH.get(installed.proxy, {}).get(target, target)
    got = CHANGED_FOR_THE_SITE.get(installed.proxy, {}).get(judged, judged)
    assert [check.original[1] for check in installed.tap.checks()[checked:]] == [f"{ORIGIN}{judged}"]
    assert [each.target for each in installed.site.asked[asked:]] == [got]
