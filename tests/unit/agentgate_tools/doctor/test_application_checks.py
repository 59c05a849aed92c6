"""Redirects of an application, as the doctor judges them."""

import pytest

from agentgate_tools.doctor.application_checks import check_application
from agentgate_tools.doctor.asking import Asked, Site
from agentgate_tools.doctor.findings import State


@pytest.mark.parametrize(
    ("address", "location", "state", "words"),
    [
        ("https://shop.example", "/en/", State.PASS, "redirects to /en/"),
        ("https://shop.example", "https://shop.example/en/", State.PASS, "redirects to"),
        ("https://shop.example", "https://shop.example/?lang=en", State.PASS, "redirects to"),
        ("https://shop.example", "https://shop.example/", State.FAIL, "to itself"),
        ("https://shop.example", "https://shop.example", State.FAIL, "to itself"),
        ("http://shop.example", "https://shop.example/", State.WARN, "redirects to https://shop.example/"),
        ("https://shop.example", "https://www.shop.example/", State.WARN, "redirects to https://www"),
        ("https://shop.example", "https://shop.example:3000/", State.FAIL, "around the proxy"),
        ("https://shop.example", "http://127.0.0.1:3000/", State.FAIL, "around the proxy"),
        ("https://shop.example", "http://backend/", State.FAIL, "around the proxy"),
        ("https://shop.example:8443", "https://shop.example:8443/en", State.PASS, "redirects to"),
        ("http://127.0.0.1:8000", "http://localhost:8000/", State.WARN, "redirects to http://localhost"),
        ("http://[::1]:8000", "http://[::1]:8000/en", State.PASS, "redirects to"),
        ("https://shop.example", "//www.shop.example/", State.WARN, "redirects to //www"),
        # Malformed addresses of a hostile application.
        ("https://shop.example", "https://[shop.example/", State.PASS, "responds (302)"),
        ("https://shop.example", "https://shop.example:99999/", State.PASS, "responds (302)"),
        ("https://shop.example", "https://" + "x" * 5000, State.FAIL, "x" * 150),
    ],
)
def test_a_redirect_is_judged_by_where_it_leads(
    monkeypatch: pytest.MonkeyPatch, address: str, location: str, state: State, words: str
) -> None:
    monkeypatch.setattr(Site, "try_asking", lambda *_: None)
    home = Asked(status=302, headers=(("location", location),), body=b"")

    found = check_application(Site(address), home)

    assert found.state is state, found
    assert words in found.found
    assert len(found.found) < 300
