"""`agentgate import anubis`: the default policy of Anubis, and what must not become a hole."""

import json
from pathlib import Path

import pytest
import yaml

from agentgate.sites.rules.drafts import read_draft
from agentgate.sites.rules.records import RulesRequest
from agentgate_tools.anubis.conditions import UnconvertibleError, match_of, read_expression, read_globs
from agentgate_tools.anubis.policy import convert
from tests.cli.commands import agentgate

VECTORS = Path(__file__).parents[3] / "shared" / "vectors" / "anubis"


def converted(*bots, thresholds=None):
    policy = {"bots": list(bots)} | ({} if thresholds is None else {"thresholds": thresholds})
    return convert(yaml.safe_dump(policy), pytest.fail)


def matches(expression, *, strict=False):
    return [match_of(terms) for terms in read_expression(expression, strict=strict)]


def vectors():
    # The checkout may be one folder deeper.
    for folder in (VECTORS, Path(__file__).parents[4] / "shared" / "vectors" / "anubis"):
        if folder.is_dir():
            return folder
    pytest.skip("the policy files of Anubis are not present")


def test_the_default_policy_becomes_valid_rules_except_one_that_needs_dns(tmp_path):
    folder = vectors()
    result = agentgate(
        tmp_path, "import", "anubis", str(folder / "botPolicies.yaml"), "--out", str(tmp_path / "rules.yaml"), "--json"
    )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)

    assert (found["converted"], [each["name"] for each in found["unconverted"]]) == (39, ["yandexbot"])
    text = (tmp_path / "rules.yaml").read_text()
    assert len(text.encode()) < 64 * 1024
    assert read_draft(RulesRequest(rule_set_text=text)).errors == []
    lint = agentgate(tmp_path, "rules", "lint", str(tmp_path / "rules.yaml"))
    assert lint.returncode == 0, lint.stdout + lint.stderr


def test_converted_rules_decide_as_the_policy(tmp_path):
    folder = vectors()
    chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
    google = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
    cases = [
        ("a browser", chrome, "198.51.100.7", "/", {}, "challenge"),
        ("a program", "curl/8.5.0", "198.51.100.7", "/", {}, "allow"),
        (
            "GPTBot",
            "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)",
            "198.51.100.7",
            "/",
            {},
            "block",
        ),
        ("Googlebot", google, "2001:4860:4801:10::1", "/", {}, "allow"),
        ("a forged Googlebot", google, "198.51.100.7", "/", {}, "challenge"),
        ("a headless browser", chrome.replace("Chrome", "HeadlessChrome"), "198.51.100.7", "/", {}, "block"),
        ("robots.txt", chrome, "198.51.100.7", "/robots.txt", {}, "allow"),
        ("not robots.txt", chrome, "198.51.100.7", "/x/robots.txt", {}, "challenge"),
        ("a worker", "x", "198.51.100.7", "/", {"CF-Worker": "x.example", "Cf-Ray": "1"}, "challenge"),
        ("a cloud", "x", "2400:3200::1", "/", {}, "block"),
    ]
    file = tmp_path / "cases.yaml"
    file.write_text(
        yaml.safe_dump(
            {
                "cases": [
                    {
                        "name": name,
                        "outcome": outcome,
                        "request": {
                            "url": f"https://shop.example{path}",
                            "address": address,
                            "headers": {"User-Agent": agent, **headers},
                        },
                    }
                    for name, agent, address, path, headers, outcome in cases
                ]
            }
        )
    )
    agentgate(tmp_path, "import", "anubis", str(folder / "botPolicies.yaml"), "--out", str(tmp_path / "rules.yaml"))
    result = agentgate(tmp_path, "rules", "test", str(tmp_path / "rules.yaml"), str(file))
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "bot",
    [
        {"name": "a", "action": "ALLOW", "path_regex": r"^/[a-z]{3}\.atom$"},
        {"name": "a", "action": "ALLOW", "expression": r'userAgent.matches("^bot\\d+$")'},
        {"name": "a", "action": "ALLOW", "expression": '!userAgent.matches("bot[0-9]{2}")', "asns": {"match": ["x"]}},
        {"name": "a", "action": "ALLOW", "expression": "missingHeader(headers, 'X') || path == '/x'"},
        {"name": "a", "action": "ALLOW", "expression": 'load_1m < 4.0 && path == "/x"'},
        {"name": "a", "action": "ALLOW", "paths": ["/x"], "path_regex": "^/x$"},
        {"name": "a", "action": "ALLOW"},
        {"name": "a", "action": "WEIGH", "weight": {"adjust": -5}, "user_agent_regex": "bot[0-9]"},
        {"name": "a", "action": "WEIGH", "weight": {"adjust": 500}, "user_agent_regex": "bot"},
        {"name": "a", "action": "OTHER", "user_agent_regex": "bot"},
    ],
)
def test_a_rule_that_would_match_more_than_the_policy_is_reported(bot):
    found = converted(bot)
    assert found.converted == 0
    assert [each.name for each in found.unconverted] == ["a"]
    assert [rule["name"] for rule in found.rule_set["rules"]] == ["cleared-visitors"]


def test_a_negated_pattern_of_an_allow_rule_excludes_at_least_what_the_policy_does():
    assert matches('!userAgent.matches("bot[0-9]")', strict=True) == [{"not_user_agents": ["*bot*"]}]
    with pytest.raises(UnconvertibleError):
        matches('!userAgent.matches("bot[0-9]")')


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (
            'path.startsWith("/api/") && !(method == "HEAD" || method == "GET")',
            [{"paths": ["/api/*"], "not_methods": ["HEAD", "GET"]}],
        ),
        ('"go-get" in query && query["go-get"] == "1"', [{"query": {"go-get": ["1"]}}]),
        ('userAgent.contains("A") && userAgent.contains("B")', [{"user_agents": ["*A*B*", "*B*A*"]}]),
        (
            'userAgent.contains("A") || (path == "/x" && method == "POST")',
            [{"user_agents": ["*A*"]}, {"paths": ["/x"], "methods": ["POST"]}],
        ),
        ('headers["Accept"].contains("*")', [{"headers": {"Accept": [r"*\**"]}}]),
    ],
)
def test_expressions_become_alternatives_of_matches(expression, found):
    assert matches(expression) == found


def test_patterns_become_globs():
    assert read_globs(r"^/\.well-known/.*$", strict=True) == ("/.well-known/*",)
    assert read_globs(r"^/favicon\.(?:ico|png)$", strict=True) == ("/favicon.ico", "/favicon.png")
    assert read_globs("Mozilla|Opera", strict=True) == ("*Mozilla*", "*Opera*")


def test_alternatives_that_add_to_the_weight_add_once():
    found = converted(
        {
            "name": "w",
            "action": "WEIGH",
            "weight": {"adjust": 5},
            "expression": {"any": ['"A" in headers', '"B" in headers']},
        }
    )
    assert [rule["match"] for rule in found.rule_set["rules"][:2]] == [
        {"headers": {"A": ["*"]}},
        {"headers": {"B": ["*"]}, "not_headers": {"A": ["*"]}},
    ]


def test_thresholds_keep_their_bounds_and_odd_ones_are_reported():
    listed = [
        {"name": "low", "expression": "weight <= 0", "action": "ALLOW"},
        {"name": "mid", "expression": {"all": ["weight > 0", "weight < 10"]}, "action": "CHALLENGE"},
        {"name": "high", "expression": "weight >= 30", "action": "DENY"},
        {"name": "odd", "expression": "weight * 2 > 5", "action": "DENY"},
    ]
    found = converted(thresholds=listed)
    assert found.rule_set["default_action"] == "allow"
    assert found.rule_set["thresholds"] == [{"at_least": 1, "action": "challenge"}, {"at_least": 30, "action": "block"}]
    assert [each.name for each in found.unconverted] == ["odd"]


def test_damaged_policies_are_errors_and_imports_in_a_circle_end():
    for text in ("[]", "bots: 3", "a: [", "bots: {}"):
        with pytest.raises((ValueError, yaml.YAMLError)):
            convert(text, lambda _: "")
    found = convert("bots: [{import: x}]", lambda _: "[{import: x}]")
    assert [each.reason for each in found.unconverted] == ["imports are nested too deeply"]
