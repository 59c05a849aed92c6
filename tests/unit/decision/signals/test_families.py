"""Families of evidence: one never counts, two ask, three refuse, and what people have is in none."""

from itertools import combinations

import pytest

from agentgate.decision.signals.families import FAMILIES, MISSING, OF_PROGRAMS, evidence_labels, families_of
from agentgate.sites.rules.labels import is_label

# Labels of detectors that are put in place beside these.
ELSEWHERE = ("probes.", "cluster.")
# Never a reason: each is what ordinary people have.
INNOCENT = (
    "browser.software_renderer",
    "browser.language_mismatch",
    "browser.no_timezone",
    "behavior.none",
    "behavior.keyboard_only",
    "behavior.click_only",
    "behavior.straight_pointer",
    "behavior.uniform_timing",
    "browser.no_plugins",
    "input.foreign_clock",
    "net.datacenter",
    "net.tor",
    "net.vpn",
    "ua.old",
    "ua.webview",
)


def test_every_label_is_in_one_family_and_in_the_catalogue():
    labels = [label for family in FAMILIES.values() for label in family]

    assert len(labels) == len(set(labels))
    assert [label for label in labels if not label.startswith(ELSEWHERE) and not is_label(label)] == []
    assert FAMILIES.keys() >= OF_PROGRAMS
    assert all(map(is_label, MISSING))


@pytest.mark.parametrize("family", FAMILIES)
def test_one_family_alone_never_counts(family):
    assert evidence_labels((*FAMILIES[family], *INNOCENT)) == []


def test_what_people_have_is_in_no_family():
    assert all(map(is_label, INNOCENT))
    assert families_of(INNOCENT) == set()


@pytest.mark.parametrize("pair", list(combinations(FAMILIES, 2)))
def test_two_families_ask_and_do_not_block(pair):
    assert evidence_labels(FAMILIES[name][0] for name in pair) == ["evidence.doubtful"]


def test_three_families_block_where_no_extension_explains_them():
    for three in combinations(FAMILIES, 3):
        said = evidence_labels(FAMILIES[name][0] for name in three)
        refused = not OF_PROGRAMS.isdisjoint(three)
        assert said == ["evidence.doubtful", *(["evidence.contradictory"] if refused else [])], three


def test_patched_functions_with_contradictions_are_challenged():
    labels = ("browser.patched", "browser.platform_mismatch", "browser.worker_mismatch")

    assert evidence_labels(labels) == ["evidence.doubtful"]


@pytest.mark.parametrize(
    "tools",
    [
        # Voice control, dictation, password managers, remote desktops, developers, privacy tools.
        ("input.short_press", "input.centred", "input.jump"),
        ("input.text_without_keys", "input.unled_focus", "input.short_keys"),
        ("browser.debugger",),
        ("browser.patched",),
        ("browser.worker_missing",),
        ("browser.window_mismatch",),
    ],
)
def test_no_tool_that_people_use_is_a_reason(tools):
    assert evidence_labels((*tools, *INNOCENT)) == []


@pytest.mark.parametrize("label", sorted(MISSING))
def test_missing_evidence_is_shown(label):
    assert evidence_labels((label,)) == ["evidence.missing"]
