"""The wording of messages, and its HTML."""

import re
from html.parser import HTMLParser

import pytest

from agentgate.people.outbox.messages import (
    added_message,
    invite_message,
    mfa_reset_message,
    password_changed_message,
    reset_message,
    to_html,
)

URL = "https://gate.example/console/invite#a-_b&c"
MESSAGES = (
    invite_message("ann@example.com", account_name="Acme", url=URL, link_digest=b"d"),
    reset_message("ann@example.com", url=URL, link_digest=b"d"),
    added_message("ann@example.com", account_name="Acme", url=URL),
    password_changed_message("ann@example.com"),
    mfa_reset_message("ann@example.com"),
)


class Page(HTMLParser):
    """The links of a page, and the resources that a browser would load for it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if tag == "a" and name == "href":
                self.links.append(value)
            elif name in {"src", "href", "srcset", "background", "poster", "data"}:
                self.loaded.append(value)
        if tag in {"script", "link", "img", "iframe", "object", "form"}:
            self.loaded.append(tag)

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.kind)
def test_a_message_shows_the_same_in_text_and_in_html(message) -> None:
    page = Page(to_html(message.subject, message.text))

    words = re.findall(r"\S+", message.text)
    assert re.findall(r"\S+", page.text.removeprefix("\n").replace(message.subject, "", 1)) == words
    assert page.loaded == []
    assert page.links == ([URL] if URL in message.text else [])


@pytest.mark.parametrize("message", MESSAGES[:3], ids=lambda message: message.kind)
def test_a_link_is_on_its_own_line(message) -> None:
    assert URL in message.text.splitlines()


def test_only_messages_with_a_one_time_link_name_its_digest() -> None:
    assert [message.link_digest for message in MESSAGES] == [b"d", b"d", None, None, None]


def test_a_name_is_escaped_in_html() -> None:
    message = invite_message("ann@example.com", account_name='<b onclick="x">&', url=URL, link_digest=b"d")

    html = to_html(message.subject, message.text)

    assert "<b onclick" not in html
    assert "&lt;b onclick=&quot;x&quot;&gt;&amp;" in html


@pytest.mark.parametrize(
    "name",
    ["Win at https://evil.example", "www.evil.example", "evil.co/x", "mail me@evil", "\n\nhttp://evil.example\n\n"],
)
def test_a_name_that_would_become_a_link_is_omitted(name: str) -> None:
    message = added_message("ann@example.com", account_name=name, url=URL)

    assert "evil" not in message.text
    assert Page(to_html(message.subject, message.text)).links == [URL]


@pytest.mark.parametrize("name", ["Acme", "Söhne & Co.", "A/B Tests", "Acme, Inc."])
def test_an_ordinary_name_is_reported(name: str) -> None:
    assert f'the account "{name}"' in added_message("ann@example.com", account_name=name, url=URL).text


def test_a_name_cannot_add_paragraphs() -> None:
    message = invite_message("ann@example.com", account_name="A\n\nB\r\n\tC", url=URL, link_digest=b"d")

    assert 'the account "A B C"' in message.text
