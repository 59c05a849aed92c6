"""The documentation's search finds the right page first, in the service and in the browser's script."""

import json
import shutil
import subprocess
from functools import cache

import pytest

from agentgate.pages.documentation.search import Section, find, read_index
from tests.tidy.sources import ROOT
from tools.documentation.library import Library
from tools.documentation.site import index, index_json
from tools.generate import generated_files

FIRST_PAGES = {
    "protect nginx": "protect-nginx",
    "false positive": "reduce-false-positives",
    "proof of work": "detection",
    "verified bot": "signals",
    "rate limit": "write-rules",
    "webhook blocked": "allow-webhooks",
    "replace recaptcha": "migrate-captcha",
    "fail open": "reverse-proxies",
    "scale": "scaling",
    # As readers write them.
    "why is my webhook blocked": "allow-webhooks",
    "how do I allow googlebot": "signals",
    "rate limits": "write-rules",
    "verified bots": "signals",
    "what data is stored": "security-privacy",
    "gdpr": "security-privacy",
    "siteverify retry": "verify-tokens",
    "block a country": "write-rules",
    "allowlist": "write-rules",
    "without javascript": "challenge-page",
    "appeals": "reduce-false-positives",
    "sign requests web bot auth": "build-agent",
    "agent quota and price": "agent-policy",
    "backup and restore": "operations",
    "kubernetes": "install",
    "cloudflare turnstile migration": "migrate-captcha",
    "anubis": "migrate-anubis",
    "caddy": "protect-caddy",
    "train a model": "train-model",
    "redis": "databases",
    "content security policy": "sdk",
    "wordpress": "packages/wordpress",
}
RUN_IN_NODE = """
globalThis.document = { documentElement: { dataset: {} }, cookie: "", addEventListener() {} };
const { script, sections, questions } = JSON.parse(require("fs").readFileSync(0, "utf8"));
(0, eval)(`${script}; globalThis.find = find`);
console.log(JSON.stringify(questions.map((each) => find(sections, each).map(({ section: [address] }) => address))));
"""


@cache
def user_pages() -> tuple[Section, ...]:
    return read_index(index_json(index(Library(), everything=False)))


@pytest.mark.parametrize("question", FIRST_PAGES)
def test_a_query_finds_the_right_page_first(question: str) -> None:
    addresses = [each.address for each in find(user_pages(), question)]

    assert addresses, question
    assert addresses[0].partition("#")[0] == f"/docs/{FIRST_PAGES[question]}", addresses[:3]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_the_script_ranks_as_the_service_does() -> None:
    script = (ROOT / "src/agentgate/pages/documentation/docs.js").read_text(encoding="utf-8")
    questions = list(FIRST_PAGES)
    asked = {
        "script": script,
        "sections": json.loads(index_json(index(Library(), everything=False))),
        "questions": questions,
    }

    done = subprocess.run(
        ["node", "-e", RUN_IN_NODE], input=json.dumps(asked), capture_output=True, text=True, timeout=60, check=True
    )

    expected = [[each.address for each in find(user_pages(), question)][:12] for question in questions]
    assert json.loads(done.stdout) == expected


def test_words_match_by_their_beginning_and_most_words_suffice() -> None:
    sections = (
        Section("/monitoring", "Monitoring", "Monitoring", "metrics"),
        Section("/tor", "Networks", "Networks", "exits of tor"),
        Section("/policy", "Policies", "Policies", "quota"),
    )

    assert [each.address for each in find(sections, "tor")] == ["/tor", "/monitoring"]
    assert [each.address for each in find(sections, "what is the policy")] == ["/policy"]
    assert [each.address for each in find(sections, "policies and quotas of sites")] == ["/policy"]
    assert find(sections, "unknown") == []
    assert find(sections, "") == []


def test_the_user_guide_has_at_most_40_pages_and_52_000_words() -> None:
    library, generated = Library(), generated_files()
    pages = [library.pages[slug] for slug in library.user_slugs]
    written = [page for page in pages if page.source.startswith("docs/") and page.source not in generated]

    assert len(written) <= 40, [page.slug for page in written]
    assert sum(len(page.markdown.split()) for page in written) <= 52_000
