"""Upgrades through real proxies: a WebSocket passes, and no visitor gets an HTTP/2 tunnel that bypasses the checks."""

import http.client

import pytest

from tests.proxies.visiting import Headers, Installed, read_answer

KEY = ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
VERSION = ("Sec-WebSocket-Version", "13")
SETTINGS = ("HTTP2-Settings", "AAMAAABkAAQAoAAAAAIAAAAA")
# The upgrade of RFC 7540 3.2, and what a lenient server might take for it.
TUNNELS: dict[str, Headers] = {
    "as curl asks": [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), SETTINGS],
    "without settings": [("Connection", "Upgrade"), ("Upgrade", "h2c")],
    "settings not in Connection": [("Connection", "upgrade"), ("Upgrade", "h2c"), SETTINGS],
    "in capitals": [("CONNECTION", "UPGRADE, HTTP2-SETTINGS"), ("UPGRADE", "H2C"), SETTINGS],
    "with blanks": [("Connection", " \tUpgrade ,  HTTP2-Settings "), ("Upgrade", "  h2c\t"), SETTINGS],
    "after websocket": [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "websocket, h2c"), SETTINGS],
    "before websocket": [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c,websocket"), SETTINGS],
    "in a list": [("Connection", "keep-alive, Upgrade, HTTP2-Settings"), ("Upgrade", "foo/1, h2c"), SETTINGS],
    "on two lines": [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Upgrade", "h2c"), SETTINGS],
    "on two lines, turned": [("Connection", "Upgrade"), ("Upgrade", "h2c"), ("Upgrade", "websocket"), SETTINGS],
    "with a key": [("Connection", "Upgrade"), ("Upgrade", "h2c"), KEY, VERSION],
    "with both keys": [("Connection", "Upgrade"), ("Upgrade", "websocket, h2c"), KEY, VERSION, SETTINGS],
    "Connection on two lines": [("Connection", "close"), ("Connection", "Upgrade"), ("Upgrade", "h2c"), SETTINGS],
    "without Connection": [("Upgrade", "h2c"), SETTINGS],
    "on two lines, with a version": [("Connection", "Upgrade"), ("Upgrade", "h2c/2.0"), ("Upgrade", "websocket"), KEY],
    "with a version": [("Connection", "Upgrade"), ("Upgrade", "h2c/2.0"), SETTINGS],
}


@pytest.mark.parametrize("asks", TUNNELS)
def test_no_visitor_gets_a_tunnel_of_http2(installed: Installed, asks: str) -> None:
    before = installed.site.tunnels, len(installed.site.asked)

    with installed.connect() as connection:
        installed.send(connection, "GET", "/page", headers=TUNNELS[asks])
        told = read_answer(connection, "GET")

    assert told.status != 101 or told.headers["upgrade"].lower() == "websocket"
    assert installed.site.tunnels == before[0]
    for asked in installed.site.asked[before[1] :]:
        assert [value.lower() for value in asked.all("upgrade")] in ([], ["websocket"])
        assert asked.all("http2-settings") == []


def test_a_visitor_who_offers_http2_gets_the_page_over_http1(installed: Installed) -> None:
    told = installed.visit("GET", "/page", headers=TUNNELS["as curl asks"])

    assert (told.status, told.asked.target) == (200, "/page")


@pytest.mark.parametrize("connection", ["Upgrade", "keep-alive, Upgrade", "upgrade"])
@pytest.mark.parametrize("upgrade", ["websocket", "WebSocket"])
def test_a_websocket_is_passed_through(installed: Installed, connection: str, upgrade: str) -> None:
    headers = [("Connection", connection), ("Upgrade", upgrade), VERSION, KEY]
    with installed.connect() as visitor:
        installed.send(visitor, "GET", "/socket", headers=headers)
        response = http.client.HTTPResponse(visitor)
        response.begin()
        assert response.status == 101
        visitor.sendall(b"ping")
        assert visitor.recv(100) == b"ping"
        response.close()


def test_a_websocket_to_a_protected_route_is_blocked(installed: Installed) -> None:
    headers = [("Connection", "Upgrade"), ("Upgrade", "websocket"), VERSION, KEY]

    assert installed.visit("GET", "/members", headers=headers).status == 401
