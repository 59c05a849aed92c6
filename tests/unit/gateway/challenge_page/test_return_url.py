"""The return URL of the challenge page: never another origin, never a loop."""

import pytest

from agentgate.gateway.challenge_page.proxied_call import back_of, return_of, within
from agentgate.gateway.request.original_request import Original

ORIGIN = "https://shop.example"


def original(target: str = "/.agentgate/v1/gateway/challenge", method: str = "GET") -> Original:
    return Original(method, ORIGIN, target, target.partition("?")[0], "203.0.113.9")


def test_a_page_instead_of_another_leads_to_that_one_whatever_is_challenged() -> None:
    assert return_of(original("/cart?id=7&x=%2f"), "https://evil.example/") == f"{ORIGIN}/cart?id=7&x=%2f"


def test_bytes_past_ascii_are_kept_as_they_came() -> None:
    assert return_of(original("/caf\xc3\xa9"), None) == f"{ORIGIN}/caf%C3%A9"


@pytest.mark.parametrize("asked", ["/cart?a=b#c", f"{ORIGIN}/cart?a=b#c", "HTTPS://SHOP.example:443/cart?a=b#c"])
def test_a_page_opened_by_itself_leads_to_what_was_challenged(asked: str) -> None:
    assert return_of(original(), asked) == f"{ORIGIN}/cart?a=b#c"


@pytest.mark.parametrize(
    "asked",
    [
        None,
        "",
        "//evil.example/",
        "/\\evil.example/",
        "\\\\evil.example",
        "https://evil.example/",
        "https://shop.example.evil.example/",
        "https://shop.example@evil.example/",
        "https://shop.example:8443/",
        "http://shop.example/",
        "javascript:alert(1)",
        "data:text/html,x",
        "/a\nSet-Cookie: x",
        "/a b",
        "https://shop.example\\@evil.example/",
        " https://shop.example/",
        "/" + "a" * 5000,
        "/.agentgate/v1/gateway/challenge",
        f"{ORIGIN}/.agentgate/v1/gateway/challenge",
        "cart",
    ],
)
def test_anything_else_leads_to_the_front_page(asked: str | None) -> None:
    assert return_of(original(), asked) == f"{ORIGIN}/"
    assert within(ORIGIN, asked) is None


def test_a_form_goes_back_to_the_page_it_was_on() -> None:
    assert back_of(original("/send", "POST"), f"{ORIGIN}/form") == f"{ORIGIN}/form"
    assert back_of(original("/send", "POST"), "https://evil.example/") == f"{ORIGIN}/"
