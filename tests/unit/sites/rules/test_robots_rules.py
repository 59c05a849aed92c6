"""RobotsRules: RFC 9309, and spellings that try to be another path."""

import time
from urllib.parse import quote, unquote

import pytest

from agentgate.sites.rules.patterns.robots_rules import _KEPT, MOST_RULES, RobotsRules, _normal

# Section 5.1 of RFC 9309, and the rules that its text describes.
RFC = """
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
EOF
"""


def test_only_text_that_quoting_leaves_alone_is_taken_as_it_is() -> None:
    for code in range(0x180):
        text = f"/a{chr(code)}b"

        assert _normal(text) == quote(unquote(text, errors="surrogateescape"), safe=_KEPT, errors="surrogateescape")


def is_disallowed(text: str, name: str, target: str, *, is_closed: bool = False) -> bool:
    found = RobotsRules(text).judge(target)
    return found is not None and found.disallows(name, is_closed=is_closed)


@pytest.mark.parametrize(
    ("name", "target", "disallowed"),
    [
        ("other", "/a.gif", True),
        ("other", "/a.gif?b", False),
        ("other", "/example/page.html", True),
        ("other", "/publications/", False),
        ("foobot", "/", True),
        ("foobot", "/example/page.html", False),
        ("foobot", "/robots.txt", False),
        ("barbot", "/example/page.html", True),
        ("bazbot", "/example/page.html", True),
        ("bazbot", "/a.gif", False),
        ("quxbot", "/example/", False),
    ],
)
def test_the_example_of_the_rfc(name: str, target: str, disallowed: bool) -> None:
    assert is_disallowed(RFC, name, target) is disallowed


@pytest.mark.parametrize(
    ("rule", "target", "disallowed"),
    [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz", True),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84", True),
        ("/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", True),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz", True),
        ("/secret", "/%73ecret", True),
        ("/a*b*c$", "/aXbXbc", True),
        ("/a*b*c$", "/aXbXcd", False),
        ("/a$", "/ab", False),
        ("", "/", False),
    ],
)
def test_paths_are_compared_in_one_spelling(rule: str, target: str, disallowed: bool) -> None:
    assert is_disallowed(f"User-agent: *\nDisallow: {rule}", "x", target) is disallowed


def test_groups_of_one_name_are_one_and_allow_wins_a_tie() -> None:
    text = "User-agent: A\nDisallow: /x\n\nuser-agent: a # again\nallow: /x\nDisallow: /y"

    assert not is_disallowed(text, "a", "/x")
    assert is_disallowed(text, "a", "/y")


def test_a_closed_use_disallows_except_where_the_owner_allows() -> None:
    text = "User-agent: GPTBot\nAllow: /press/\n"

    assert is_disallowed(text, "gptbot", "/page", is_closed=True)
    assert not is_disallowed(text, "gptbot", "/press/1", is_closed=True)
    assert not is_disallowed(text, "gptbot", "/page")
    assert is_disallowed("", "gptbot", "/page", is_closed=True)


def test_many_stars_and_many_rules_take_milliseconds() -> None:
    stars = "User-agent: *\n" + "".join(f"Disallow: /{'*a' * 15}{number}$\n" for number in range(2 * MOST_RULES))
    rules = RobotsRules(stars[:32_768])
    started = time.process_time()
    rules.judge("/" + "a" * 8_000)

    assert time.process_time() - started < 0.05


def test_rules_of_a_group_are_compared_once_for_all_its_names() -> None:
    # As large as a site's text may be.
    text = "".join(f"User-agent:{number}\n" for number in range(1_000)) + "Disallow:/*a*\n" * MOST_RULES
    started = time.process_time()
    rules = RobotsRules(text)
    found = rules.judge("/" + "b" * 2_000)

    assert time.process_time() - started < 0.1
    assert found is not None
    assert not found.disallowed
    assert rules.judge("/a").disallows("999", is_closed=False)  # type: ignore[union-attr]


def test_groups_of_one_name_are_one_group() -> None:
    text = "User-agent: a\nUser-agent: b\nDisallow: /x\n\nUser-agent: b\nUser-agent: c\nAllow: /x/y\n"

    assert is_disallowed(text, "a", "/x/y")
    assert is_disallowed(text, "b", "/x")
    assert not is_disallowed(text, "b", "/x/y")
    assert not is_disallowed(text, "c", "/x")
