"""robots.txt compared with the terms: each of ten seeded disagreements is found, and none where there is none."""

import pytest

from agentgate.lib.enums import AiPurpose, AiUseChoice
from agentgate.sites.ai_terms import AiUse, NamedCrawler, robots_txt
from agentgate_tools.doctor.robots_check import CRAWLERS, disagreements

PURPOSES = [*[AiPurpose.TRAINING] * 4, *[AiPurpose.SEARCH] * 4, *[AiPurpose.AGENT] * 4]
NAMED = [NamedCrawler(*each) for each in zip(CRAWLERS, PURPOSES, strict=True)]
OWN = "User-agent: *\nDisallow: /private/\n"
LICENSE = "https://gate.example/v1/sites/site_shop1/license.xml"


def terms_of(**choices: AiUseChoice) -> str:
    use = dict.fromkeys(AiPurpose, AiUseChoice.ALLOW) | {AiPurpose(name): choice for name, choice in choices.items()}
    return robots_txt(OWN, AiUse(use, None), NAMED, LICENSE)


TERMS = terms_of(training=AiUseChoice.BLOCK)


def test_the_published_file_agrees_with_itself() -> None:
    assert disagreements(TERMS, TERMS, "/page") == []
    assert disagreements(TERMS.replace("search=yes, ", "search=yes,"), TERMS, "/page") == []


@pytest.mark.parametrize(
    ("served", "named"),
    [
        (OWN, "GPTBot"),
        ("", "ClaudeBot"),
        (TERMS.replace("User-agent: CCBot\n", ""), "CCBot is allowed"),
        (TERMS + "\nUser-agent: PerplexityBot\nDisallow: /\n", "PerplexityBot is disallowed"),
        (TERMS + "\nUser-agent: ChatGPT-User\nDisallow: /page\n", "ChatGPT-User is disallowed"),
        (TERMS.replace("Disallow: /private/", "Disallow: /"), "OAI-SearchBot is disallowed"),
        (TERMS.replace("ai-train=no", "ai-train=yes"), "Content-Signal"),
        (TERMS.replace("train-ai=n", "train-ai=y"), "Content-Usage"),
        (TERMS.replace(LICENSE, "https://other.example/license.xml"), "License"),
        (terms_of(training=AiUseChoice.BLOCK, search=AiUseChoice.CHALLENGE), "DuckAssistBot is disallowed"),
    ],
)
def test_a_seeded_disagreement_is_found(served: str, named: str) -> None:
    assert named in "; ".join(disagreements(served, TERMS, "/page"))
