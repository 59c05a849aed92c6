"""The one reader of secrets in headers."""

import pytest

from agentgate.http.bearer_secret import bearer_secret, shown_secret

CASES = {
    "the secret": (b"Bearer ags_x", b"ags_x"),
    "any case of the scheme": (b"bEARER ags_x", b"ags_x"),
    "the scheme alone": (b"Bearer", b""),
    "two spaces": (b"Bearer  ags_x", b" ags_x"),
    "another scheme": (b"Basic ags_x", None),
    "a longer word": (b"Bearers ags_x", None),
    "nothing": (b"", None),
}


@pytest.mark.parametrize(("header", "secret"), CASES.values(), ids=CASES)
def test_a_bearer_secret_is_what_follows_one_space(header, secret) -> None:
    assert bearer_secret(header) == secret


def test_the_header_of_a_sites_server_goes_before_authorization() -> None:
    headers = {b"authorization": b"Bearer visitor", b"x-agentgate-secret": b"site"}

    assert shown_secret(headers) == b"site"
    assert shown_secret({b"authorization": b"Bearer visitor"}) == b"visitor"
    assert shown_secret({}) is None
