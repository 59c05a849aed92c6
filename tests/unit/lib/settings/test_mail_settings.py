"""The sender of mail: given, or made from the public address."""

import pytest

from agentgate.lib.settings.schema import SettingsRefused, read_settings


@pytest.mark.parametrize(
    ("public_base_url", "sender"),
    [
        ("", "agentgate@localhost"),
        ("https://gate.example.com:8443/x", "agentgate@gate.example.com"),
        ("http://127.0.0.1:8080", "agentgate@localhost"),
        ("http://[::1]:8080", "agentgate@localhost"),
    ],
)
def test_the_sender_follows_from_the_public_address(public_base_url: str, sender: str) -> None:
    assert read_settings({"PUBLIC_BASE_URL": public_base_url}).mail_sender == sender


def test_a_given_sender_wins() -> None:
    environ = {"PUBLIC_BASE_URL": "https://gate.example", "AGENTGATE_MAIL_FROM": "No-Reply+gate@mail.example"}

    assert read_settings(environ).mail_sender == "No-Reply+gate@mail.example"


@pytest.mark.parametrize(
    "text",
    [
        "gate",
        "gate@",
        "@example.com",
        "a b@example.com",
        "Gate <gate@example.com>",
        "gate@example.com\r\nBcc: eve@example.com",
        "gate@exa mple.com",
        "a..b@example.com",
        "gäte@example.com",
        "x" * 65 + "@example.com",
    ],
)
def test_what_is_not_a_plain_address_is_rejected(text: str) -> None:
    with pytest.raises(SettingsRefused, match="AGENTGATE_MAIL_FROM"):
        read_settings({"AGENTGATE_MAIL_FROM": text})
