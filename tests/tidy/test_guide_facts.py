"""Limits, defaults, groups and thresholds in the guides match the code."""

import re

import pytest

from agentgate.browser_check import budgets, clusters, machines
from agentgate.decision.scoring import compare, features, model_file, promotion
from agentgate.decision.signals.families import FAMILIES, OF_PROGRAMS
from agentgate.decision.threat_data import search_verification as crawlers
from agentgate.events.webhooks import deliver, editing, endpoints, progress
from agentgate.gateway.appeals import filing
from agentgate.gateway.challenge_page import challenge_pass, sealed_token
from agentgate.lib import limits
from agentgate.lib.clock import HOUR_MS, MINUTE_MS, SECOND_MS
from agentgate.lib.keyring import ACTIVATION_MS
from agentgate.lib.settings.schema import Settings
from agentgate.sites import open_paths, validate
from agentgate.sites.rules.effective import managed_groups
from agentgate_client.guarding import FORM_BYTES, RETRY_AFTER_S
from agentgate_client.verify_async import THREADS
from agentgate_tools.training import labels, rows
from tests.tidy.sources import ROOT

KIB = 1_024
STATED = {
    "docs/verify-tokens.md": (
        f"| address | {budgets.PER_HOUR} |",
        f"| network | {budgets.PER_HOUR}, or {budgets.PER_ADDRESS} for each of its visiting addresses; ",
        f"{budgets.PER_CROWDED} for each from {budgets.CROWD} addresses on, up to {budgets.MOST_ADDRESSES} |",
        f"get at most {10 * budgets.network_most(25):,} tokens",
        f"gets {budgets.network_most(254):,}, as does",
        f"The body is limited to {limits.SITEVERIFY_BODY_BYTES // KIB} KiB",
        f"for {limits.REDEMPTION_KEPT_HOURS} hours after expiry",
        f"{limits.REQUEST_ID_CHARACTERS.least} to {limits.REQUEST_ID_CHARACTERS.most} of `A-Z a-z 0-9 . _ : -`",
        f"at most {limits.RECEIPT_CHARACTERS} characters",
        f"cacheable for {limits.PUBLISHED_KEYS_MAX_AGE_S} s",
        f"signs {ACTIVATION_MS // MINUTE_MS} minutes later",
        f"for {Settings().clearance_seconds // 60} minutes (`AGENTGATE_CLEARANCE_SECONDS`)",
        f"runs its calls in {THREADS} threads",
        f"a form of more than {FORM_BYTES // KIB**2} MiB",
        f"`Retry-After: {RETRY_AFTER_S}`",
    ),
    "docs/write-rules.md": (
        f"{limits.RULES_PER_SET} rules, {limits.GLOBS_PER_SET} globs and {limits.NETWORKS_PER_SET:,} networks per set",
        f"{limits.RULE_SET_TEXT_BYTES // KIB} KiB of YAML 1.2",
        f"at most {limits.LIST_ENTRIES_PER_SITE:,} entries, {limits.LIST_PROGRAMS_PER_SITE} of them programs",
    ),
    "docs/allow-webhooks.md": (
        f"(1 to {open_paths.MOST_PER_MINUTE:,}, default {open_paths.PER_MINUTE})",
        f"at most {validate.OPEN_PATHS} entries",
        f"at most {validate.FEEDS} exact paths",
    ),
    "docs/reduce-false-positives.md": (
        f"{filing.PER_VISITOR.most} per day and address, {filing.PER_SITE.most} per hour",
        f"{filing.MOST_OPEN:,} open per site",
        f"at most {limits.APPEAL_CHARACTERS} characters",
        f"Appeals are deleted after {limits.APPEAL_KEPT_DAYS} days",
        f"for `hours` (default {limits.APPEAL_LET_IN_HOURS}, at most a year)",
        "two seconds to six hours" if challenge_pass.APPEAL_WAIT_MS == 2 * SECOND_MS else "",
    ),
    "docs/agent-policy.md": (
        f"1 to {limits.AGENT_QUOTA_MOST_PER_MINUTE:,} | {limits.AGENT_QUOTA_DEFAULT_PER_MINUTE} |",
        f"up to {limits.AGENT_POLICY_AGENTS} entries",
        f"up to {limits.AGENT_POLICY_TOOLS} tools",
        f"up to {limits.DIRECTORY_KEYS} Ed25519 public keys",
        f"Charges are kept for {limits.CHARGES_KEPT_DAYS} days",
        f"`Retry-After: {limits.AGENT_QUOTA_RETRY_AFTER_S}`",
    ),
    "docs/build-agent.md": (
        f"at most {limits.GATEWAY_SIGNATURE_WINDOW_HOURS} hours after `created`",
        f"on `/agent/submit` {limits.SUBMIT_SIGNATURE_WINDOW_S // 60} minutes",
        f"Clocks may differ by {limits.SIGNATURE_SKEW_S} s",
        f"up to {limits.DIRECTORY_KEYS} Ed25519 keys",
    ),
    "docs/agent-actions.md": (
        f"at most {limits.SUBMIT_BODY_BYTES // KIB} KiB of JSON",
        f"a validity of at most {limits.SUBMIT_SIGNATURE_WINDOW_S} s",
        f"more than {limits.HANDOFF_POLLS_PER_MINUTE_PER_ADDRESS} polls per minute",
        f"`Retry-After: {limits.HANDOFF_POLL_INTERVAL_S}`",
    ),
    "docs/webhooks.md": (
        f"at most {deliver.MOST_ITEMS} decisions",
        f"the {deliver.DELIVERIES_KEPT} newest deliveries",
        f"the old one also signs for {editing.OVERLAP_MS // HOUR_MS} hours",
        f"after {progress.FIRST_PAUSE_MS // SECOND_MS} seconds",
        f"After {progress.GIVEN_UP_MS // HOUR_MS} hours of failures",
        "ten per minute" if endpoints.TESTS.most == 10 else f"{endpoints.TESTS.most} per minute",
        "at most five" if editing.WEBHOOKS_PER_SITE == 5 else f"at most {editing.WEBHOOKS_PER_SITE}",
    ),
    "docs/train-model.md": (
        f"at least 100 usable labels and {labels.LEAST_PER_CLASS} of each class",
        f"`model.bot.possible` at {features.POSSIBLE} or more, `model.bot.likely` at {features.LIKELY} or more",
        f"up to {promotion.MOST_SAMPLES:,} requests of the last {promotion.DAYS} days",
        f"newest {compare.MOST_LABELS:,} of all sites",
        f"| Features | {model_file.MOST_FEATURES:,}, each once, all known |",
        f"{model_file.MOST_TREES}, {model_file.MOST_DEPTH} levels, {model_file.MOST_NODES:,} nodes",
        f"If {rows.FIGURES_SHARE:.0%} of the labels have features",
    ),
    "docs/challenge-page.md": (
        f"up to {limits.CARRIED_FORM_BYTES // KIB} KiB of text fields",
        "for ten minutes" if sealed_token.LIFETIME_MS == 10 * MINUTE_MS else "",
        "a delay of eight seconds" if challenge_pass.WAIT_MS == 8 * SECOND_MS else "",
        f"gets {challenge_pass.MOST_PASSES} such clearances in ten minutes",
    ),
    "docs/security-privacy.md": (
        f"`AGENTGATE_EVENT_DAYS`, default {Settings().event_days} days",
        f"counts {Settings().metric_days} days (`AGENTGATE_METRIC_DAYS`)",
        f"until {limits.DELETED_ACCOUNT_PURGE_DAYS} days after deletion",
        f"at most {limits.CONSOLE_SESSION_HOURS} hours",
    ),
    "docs/signals.md": (
        f"{crawlers.FREE_IN_KNOWN_NETWORK} addresses an hour",
        f"at most eight at once and {crawlers.LOOKUP_S:.0f} s each" if crawlers.LOOKUPS_AT_ONCE == 8 else "",
        f"cached for {crawlers.VERIFIED_MS // HOUR_MS} hours, forged ones for an hour",
        f"from {clusters.SHAPE_ADDRESSES} addresses and {clusters.SHAPE_SHARE:.0%} of the last {clusters.RECENT}",
        f"from {clusters.FARM_ADDRESSES} addresses in {clusters.FARM_NETWORKS} networks, {clusters.FARM_SHARE:.0%}",
        f"its share of the day's earlier {clusters.EARLIER:,} or more",
        "three times its share" if clusters.FARM_TIMES == 3 else "",
        f"{clusters.FARM_SINGLE:.0%} with their own address, at most {clusters.FARM_INPUT:.0%} with any input",
        f"at least {clusters.INPUT_EVENTS} events) from {clusters.INPUT_NETWORKS} networks",
        f"identical key and press timings from {clusters.RHYTHM_NETWORKS} networks",
        f"from {clusters.PACE_NETWORKS} networks and {clusters.PACE_SHARE:.0%} of",
        f"{clusters.OTHER_ENGINES:.0%} of which claim another engine",
        f"more than {machines.LEAST} checks, {machines.PER_NETWORK} for each of its networks",
        "three times its average hour" if machines.USUAL_TIMES == 3 else "",
        f"from {clusters.DEBUGGED_NETWORKS} networks and in {clusters.DEBUGGED_PART:.0%} of its checks",
    ),
}


@pytest.mark.parametrize("page", STATED)
def test_a_guide_states_the_limits_of_the_code(page: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())

    assert [each for each in STATED[page] if not each or " ".join(each.split()) not in text] == []


def test_the_rules_page_lists_each_managed_group_with_its_newest_version() -> None:
    text = (ROOT / "docs/write-rules.md").read_text(encoding="utf-8")
    newest: dict[str, int] = {}
    for group in managed_groups().values():
        newest[group.name] = max(group.version, newest.get(group.name, 0))

    assert {
        name: int(version) for name, version in re.findall(r"^\| `([\w-]+)` \| (\d+) \|", text, re.MULTILINE)
    } == newest


def test_the_detection_page_lists_each_family_and_marks_those_that_can_block() -> None:
    text = (ROOT / "docs/detection.md").read_text(encoding="utf-8")
    table = text.partition("| Family | Evidence |")[2].partition("\n\n")[0]
    listed = dict(re.findall(r"^\| ([a-z]+)( \*)? \|", table, re.MULTILINE))

    assert listed.keys() == FAMILIES.keys()
    assert {name for name, mark in listed.items() if mark} == OF_PROGRAMS
