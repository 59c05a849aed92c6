"""The places where a token counts, and the conversion of patterns of published lists to tokens."""

import pytest

from agentgate.decision.threat_data.user_agent_tokens import Boundary, Token, TokenMatcher
from agentgate_tools.threat_lists.crawlers import plain_texts, read_agents, read_crawlers


@pytest.mark.parametrize(
    ("boundary", "text", "found"),
    [
        (Boundary.ANYWHERE, "xfoox", True),
        (Boundary.LEFT, "foox", True),
        (Boundary.LEFT, "-foox", True),
        (Boundary.LEFT, "xfoo", False),
        (Boundary.WORD, "a-foo/1", True),
        (Boundary.WORD, "foox", False),
        (Boundary.WORD, "xfoo", False),
        (Boundary.PRODUCT, "(foo/1", True),
        (Boundary.PRODUCT, "foo", True),
        (Boundary.PRODUCT, "my-foo", False),
        (Boundary.PRODUCT, "foo_bar", False),
        (Boundary.START, "foo bar", True),
        (Boundary.START, " foo", False),
        (Boundary.START, "foox", False),
        (Boundary.START, "foo3", True),
        (Boundary.START, "mozilla/5.0 (compatible; foo/1)", True),
        (Boundary.START, "mozilla/5.0 (linux; foo/1)", False),
        (Boundary.WORD, "com.example.foo", False),
        (Boundary.WORD, "+http://www.foo.example", True),
        (Boundary.COMMENT, "x (y; foo)", True),
        (Boundary.COMMENT, "foo (y)", False),
    ],
)
def test_a_token_counts_where_its_boundary_lets_it(boundary, text, found):
    matcher = TokenMatcher([Token("foo", "crawler", boundary, "Foo")])

    assert bool(matcher.find(text)) is found


def test_tokens_that_overlap_are_all_found():
    tokens = [Token(text, "crawler", Boundary.ANYWHERE, text) for text in ("googlebot", "bot", "googlebot-image")]

    assert {token.text for token in TokenMatcher(tokens).find("googlebot-image")} == {
        "googlebot",
        "bot",
        "googlebot-image",
    }


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("Googlebot\\/", [("Googlebot/", False)]),
        ("^curl", [("curl", True)]),
        ("[wW]get", [("wget", False)]),
        ("Ahrefs(Bot|SiteAudit)", [("AhrefsBot", False), ("AhrefsSiteAudit", False)]),
        ("Chirp|gotosocial", [("Chirp", False), ("gotosocial", False)]),
        ("Netumo|netumo", [("netumo", False)]),
        ("AdsBot-Google([^-]|$)", []),
        ("Spider[\\s\\S]*spider\\.com", []),
        ("a.*b", []),
        ("x\\d", []),
        ("", []),
    ],
)
def test_a_plain_pattern_becomes_text_and_another_is_dropped(pattern, texts):
    assert plain_texts(pattern) == texts


def test_a_list_of_crawlers_gives_tokens_and_shows_what_it_dropped():
    read = read_crawlers(
        [
            {"pattern": "AcmeBot", "tags": ["seo"], "instances": ["AcmeBot/1.0"]},
            {"pattern": "acme", "tags": ["search-engine"], "instances": ["superacmecrawler"]},
            {"pattern": "x.*y", "tags": ["seo"], "instances": []},
            {"pattern": 7},
            "nonsense",
        ]
    )

    assert read.tokens == (
        Token("acmebot", "seo", Boundary.PRODUCT, "AcmeBot"),
        Token("acme", "search_engine", Boundary.ANYWHERE, "acme"),
    )
    assert read.dropped == ("x.*y", "7", "nonsense")


def test_names_that_are_too_general_are_not_taken_as_agents():
    entries = [
        {"token": "GPTBot", "match": "product-token", "category": "ai-training"},
        {"token": "Code", "match": "product-token-only"},
    ]

    read = read_agents(entries)

    assert read.tokens == (Token("gptbot", "ai_agent", Boundary.PRODUCT, "GPTBot", "training"),)
    assert read.dropped == ("Code",)
