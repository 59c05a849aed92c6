"""A request to the service itself, as its agent signed it: under our own address and no other."""

import pytest

from agentgate.agents.admission import OwnAddress
from agentgate.http.request import Request


def request(host, *, secure=False, path="/v1/handoff/x", query=b""):
    headers = [(b"host", host), (b"signature", b"a"), (b"signature", b"b")]
    return Request(method="GET", path=path, query_string=query, headers=headers, address="192.0.2.1", secure=secure)


@pytest.mark.parametrize("host", [b"gate.example", b"GATE.example", b"gate.example:443"])
def test_our_own_address_has_one_spelling(host):
    message = OwnAddress("https://gate.example").message(request(host))

    assert message is not None
    assert (message.scheme, message.authority, message.target) == ("https", "gate.example", "/v1/handoff/x")


@pytest.mark.parametrize("host", [b"evil.example", b"gate.example:8443", b"gate.example.evil.example", b""])
def test_a_signature_for_another_host_is_not_inspected(host):
    assert OwnAddress("https://gate.example").message(request(host)) is None


def test_the_path_of_our_address_is_what_the_agent_called():
    message = OwnAddress("https://shop.example/gate").message(request(b"shop.example", query=b"a=1"))

    assert message is not None
    assert message.target == "/gate/v1/handoff/x?a=1"


@pytest.mark.parametrize(("secure", "host", "authority"), [(False, b"h:80", "h"), (True, b"h:80", "h:80")])
def test_without_an_address_in_the_settings_the_host_is_believed(secure, host, authority):
    message = OwnAddress("").message(request(host, secure=secure))

    assert message is not None
    assert (message.scheme, message.authority) == ("https" if secure else "http", authority)


def test_a_header_that_came_twice_is_joined():
    message = OwnAddress("").message(request(b"h"))

    assert message is not None
    assert message.headers[b"signature"] == b"a, b"
