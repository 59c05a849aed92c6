"""Presets: requests from the routes of each application, from people, programs and clients that read the source."""

import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from agentgate.decision.explain import observe_sample
from agentgate.decision.scoring.models import ModelDirectory
from agentgate.decision.threat_data.intel import load_intel
from agentgate.lib.enums import Outcome, Preset
from agentgate.lib.settings.schema import Settings
from agentgate.sites.route_table import RouteTable
from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.effective import PRESETS, effective_set, managed_groups, preset_members, server_rule_set
from agentgate.sites.rules.evaluate import STRICTNESS, CompiledRules, RuleVerdict
from agentgate.sites.rules.records import RuleSet
from agentgate.sites.rules.replay_records import SampleRequest
from agentgate.sites.rules.validate import check_rules
from agentgate_tools.commands.intel import intel_folder

CASES = Path(__file__).parents[3] / "cases" / "presets"
PAGE = Path(__file__).parents[4] / "docs" / "protect-applications.md"
GROUPS = sorted({name for name, _ in PRESETS.values()})
BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en-US,en;q=0.5",
    "Accept-Encoding": "gzip, deflate, br, zstd",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "none",
    "Sec-Fetch-User": "?1",
}
SENDERS: dict[str, dict[str, str]] = {
    "browser": BROWSER,
    "forged session": {**BROWSER, "Cookie": "{session}=0123456789abcdef0123456789abcdef"},
    "forged bearer": {**BROWSER, "Authorization": "Bearer 0123456789abcdef"},
    "git": {"User-Agent": "git/2.47.3", "Accept": "*/*"},
    "git-lfs": {"User-Agent": "git-lfs/3.6.1 (GitHub; linux amd64; go 1.23)", "Accept": "application/vnd.git-lfs+json"},
    "program": {"User-Agent": "Renovate/41.1", "Accept": "application/json", "Authorization": "Basic eDp5"},
}
# Headers that make a request for a costly page look like another one.
CLAIMS: dict[str, dict[str, str]] = {
    "git body": {"Content-Type": "application/x-git-upload-pack-request"},
    "LFS": {"Content-Type": "application/vnd.git-lfs+json", "Accept": "application/vnd.git-lfs+json"},
    "token": {"PRIVATE-TOKEN": "glpat-0123456789abcdef", "JOB-TOKEN": "glcbt-64_0123456789"},
    "API key": {"Api-Key": "0123456789abcdef", "User-Api-Key": "0123456789abcdef", "OCS-APIRequest": "true"},
    "image": {"Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors"},
    "script": {"X-Requested-With": "XMLHttpRequest", "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors"},
    "feed reader": {"User-Agent": "Feedly/1.0", "Accept": "application/rss+xml"},
}
SCANNERS = ("sqlmap/1.9", "GPTBot/1.2", "Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/140.0.0.0 Safari/537.36")


@cache
def cases(group: str) -> dict[str, Any]:
    return tomllib.loads((CASES / f"{group.removeprefix('app-')}.toml").read_text(encoding="utf-8"))


@cache
def rules_of(group: str) -> CompiledRules:
    preset = next(preset for preset, (name, _) in PRESETS.items() if name == group)
    return compile_rules(effective_set(server_rule_set(), {}, preset))


@cache
def views() -> tuple[Any, Any]:
    return ModelDirectory().view, load_intel(intel_folder(Settings()))


def verdict_of(group: str, line: str, headers: dict[str, str], labels: tuple[str, ...] = ()) -> RuleVerdict:
    """Return the verdict of the default rules with a preset on a request."""
    request, *more = line.split(" | ")
    method, target = request.split(" ", 1)
    sent = {**headers, **dict(each.split(": ", 1) for each in more)}
    models, intel = views()
    sample = observe_sample(
        SampleRequest(method=method, url=f"https://app.example{target}", headers=sent, address="198.51.100.7"),
        RouteTable([]),
        models=models,
        intel=intel,
    )
    rules = rules_of(group)
    found = tuple(sorted({*sample.labels, *labels}))
    traits = sample.read_traits(rules.predicates)
    return rules.evaluate(found, sample.scores, route=sample.route, action=sample.action, traits=traits)


def requests_of(group: str, kind: str) -> Iterator[tuple[str, dict[str, str]]]:
    session = cases(group)["session"]
    for line, sender in product(cases(group)[kind], SENDERS.values()):
        yield line, {name: value.replace("{session}", session) for name, value in sender.items()}


@pytest.mark.parametrize("group", GROUPS)
def test_costly_pages_are_challenged_for_every_sender(group: str) -> None:
    wrong = [
        (line, headers["User-Agent"], verdict.outcome, verdict.rule)
        for line, headers in requests_of(group, "challenged")
        if (verdict := verdict_of(group, line, headers)).outcome is not Outcome.CHALLENGE
        or verdict.rule not in preset_members()
    ]

    assert wrong == []


@pytest.mark.parametrize("group", GROUPS)
def test_a_preset_leaves_other_pages_to_the_other_rules(group: str) -> None:
    wrong = [
        (line, headers["User-Agent"], rule)
        for line, headers in requests_of(group, "usual")
        if (rule := verdict_of(group, line, headers).rule) in preset_members()
    ]

    assert wrong == []


@pytest.mark.parametrize("group", GROUPS)
def test_requests_of_its_protocols_pass(group: str) -> None:
    wrong = [
        (line, headers["User-Agent"], verdict.outcome, verdict.rule)
        for line, headers in requests_of(group, "passes")
        if (verdict := verdict_of(group, line, headers)).outcome is not Outcome.ALLOW
        or verdict.rule not in preset_members()
    ]

    assert wrong == []


@pytest.mark.parametrize("group", GROUPS)
def test_each_preset_has_at_least_two_hundred_requests(group: str) -> None:
    kinds = ("challenged", "usual", "passes")
    lines = [line for kind in kinds for line in cases(group)[kind]]

    assert len(lines) == len(set(lines))
    assert sum(len(list(requests_of(group, kind))) for kind in kinds) >= 200
    assert cases(group)["sources"]


@pytest.mark.parametrize("group", GROUPS)
def test_no_claim_opens_a_costly_page(group: str) -> None:
    wrong = [
        (line, name, verdict.outcome, verdict.rule)
        for line, (name, claim) in product(cases(group)["challenged"], CLAIMS.items())
        if not line.startswith("GET /api/v4/") and not _is_key_of_api(group, line, name)
        if (verdict := verdict_of(group, line, {**BROWSER, **claim})).outcome is Outcome.ALLOW
    ]

    assert wrong == []


def _is_key_of_api(group: str, line: str, claim: str) -> bool:
    """GitLab and Discourse check these keys themselves, and reject wrong ones before anything else."""
    return group == "app-gitlab" and "/api/" in line and claim == "token"


def odd_forms(line: str) -> Iterator[str]:
    """Yield a request as other servers could read it."""
    request, bar, headers = line.partition(" | ")
    method, target = request.split(" ", 1)
    path, mark, query = target.partition("?")
    rest = mark + query
    yield f"{method} /{path}{rest}{bar}{headers}"
    yield f"{method} /.{path}{rest}{bar}{headers}"
    yield f"{method} /x/..{path}{rest}{bar}{headers}"
    yield f"{method} {path};x=1{rest}{bar}{headers}"
    yield f"{method} {path}/{rest}{bar}{headers}"
    yield f"{method} {path}//{rest}{bar}{headers}"
    yield f"{method} {path.upper()}{rest}{bar}{headers}"
    first = path[1:2]
    if first:
        yield f"{method} /%{ord(first):02x}{path[2:]}{rest}{bar}{headers}"
        yield f"{method} /%25{ord(first):02x}{path[2:]}{rest}{bar}{headers}"
    last = path[-1]
    yield f"{method} {path[:-1]}%{ord(last):02X}{rest}{bar}{headers}"
    yield f"{method} {path.replace('/', '%2f')[3:].join(['/', ''])}{rest}{bar}{headers}"
    yield f"{method} {path}?{query}&service=git-upload-pack{bar}{headers}"
    yield f"{method} {path}?service=git-upload-pack&{query}{bar}{headers}"
    yield f"{method} {path}?{query};service=git-upload-pack{bar}{headers}"
    if query:
        yield f"{method} {path}?{query}&{query}{bar}{headers}"
        yield f"{method} {path}?%{ord(query[0]):02x}{query[1:]}{bar}{headers}"
        yield f"{method} {path}?x=1;{query}{bar}{headers}"
        yield f"{method} {path}?{query.upper()}{bar}{headers}"


@pytest.mark.parametrize("group", GROUPS)
def test_no_spelling_opens_a_costly_page(group: str) -> None:
    wrong = [
        (form, verdict.outcome, verdict.rule)
        for line in cases(group)["challenged"]
        for form in odd_forms(line)
        if STRICTNESS[(verdict := verdict_of(group, form, BROWSER)).outcome] < STRICTNESS[Outcome.CHALLENGE]
    ]

    assert wrong == []


@pytest.mark.parametrize("group", GROUPS)
def test_no_odd_spelling_passes_as_a_protocol(group: str) -> None:
    wrong = [
        (form, verdict.rule)
        for line in cases(group)["passes"]
        for form in list(odd_forms(line.partition(" | ")[0]))[:4]
        if (verdict := verdict_of(group, form, BROWSER)).outcome is Outcome.ALLOW and verdict.rule in preset_members()
    ]

    assert wrong == []


@pytest.mark.parametrize("group", GROUPS)
def test_scanners_and_high_rates_pass_nowhere(group: str) -> None:
    limited: list[tuple[dict[str, str], tuple[str, ...]]] = [
        *(({**BROWSER, "User-Agent": name}, ()) for name in SCANNERS),
        (BROWSER, ("rate.visitor.high",)),
        (BROWSER, ("rate.network.high",)),
        (BROWSER, ("agent.search_forged",)),
    ]
    wrong = [
        (line, headers["User-Agent"], labels)
        for line, (headers, labels) in product(cases(group)["passes"], limited)
        if (verdict := verdict_of(group, line, headers, labels)).outcome is Outcome.ALLOW
        and verdict.rule in preset_members()
    ]

    assert wrong == []


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("proof", ["receipt.clearance", "receipt.valid", "agent.search_verified", "path.feed"])
def test_proof_and_declared_feeds_open_costly_pages(group: str, proof: str) -> None:
    wrong = [
        line
        for line in cases(group)["challenged"]
        if verdict_of(group, line, BROWSER, (proof,)).rule in preset_members()
    ]

    # A clearance does not stop a protocol from passing.
    assert [line for line in wrong if verdict_of(group, line, BROWSER, (proof,)).outcome is not Outcome.ALLOW] == []


@pytest.mark.parametrize("preset", PRESETS)
def test_the_rules_of_a_preset_are_valid_and_named_after_it(preset: Preset) -> None:
    name, version = PRESETS[preset]
    group = managed_groups()[name, version]
    document = {"version": "1", "rules": [{"group": name, "version": version}], "default_action": "allow"}

    assert check_rules(document, {}) == []
    assert all(member.name.startswith(f"{name}-") for member in group.rules)
    # A form field may override the method, so a costly page is bound to none but POST, whose body is not visible, and
    # to a GET with a body, which no browser sends.
    assert [
        member.name
        for member in group.rules
        if member.action == "challenge"
        and member.match.methods not in (UNSET, ["POST"])
        and member.name != f"{name}-body"
    ] == []


def test_forgejo_and_gitea_share_their_rules() -> None:
    assert PRESETS[Preset.FORGEJO] == PRESETS[Preset.GITEA]
    assert set(PRESETS) == set(Preset) - {Preset.NONE}


def test_owners_rules_come_first_and_groups_after_the_preset() -> None:
    own = {"name": "office", "match": {"networks": ["198.51.100.0/24"]}, "action": "allow"}
    groups = [{"group": "standards", "version": 2}, {"group": "low-harm-clients", "version": 5}]
    rules = [item["name"] for item in effective_set(own_set([own, *groups]), {}, Preset.CGIT).rules]

    assert rules[:2] == ["office", "app-cgit-history"]
    assert rules[-1] == "low-harm-named"
    assert effective_set(own_set([own]), {}, Preset.CGIT).rules[0]["name"] == "office"


def own_set(rules: list[dict[str, Any]]) -> RuleSet:
    return RuleSet(version="1", rules=rules, default_action="allow")


def test_a_set_with_the_group_of_its_preset_is_rejected() -> None:
    document = {"version": "1", "rules": [{"group": "app-cgit", "version": 1}], "default_action": "allow"}

    assert "the preset cgit" in check_rules(document, {}, Preset.CGIT)[0].message
    assert check_rules(document, {"app-cgit-history": "count"}, Preset.NONE) == []
    assert check_rules({**document, "rules": []}, {"app-cgit-history": "count"}, Preset.CGIT) == []


@pytest.mark.parametrize("preset", PRESETS)
def test_the_page_lists_each_preset_with_its_requests_and_sources(preset: Preset) -> None:
    group, kinds = PRESETS[preset][0], ("challenged", "usual", "passes")
    count = sum(len(list(requests_of(group, kind))) for kind in kinds)
    row = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{preset}` "))

    assert f"| {count} |" in row
    assert row.endswith("| not tried with a running installation |")
    assert [source for source in cases(group)["sources"] if source not in row] == []
