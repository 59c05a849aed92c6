"""Families of evidence: one never counts, two challenge, three block, and traits of ordinary people are in none."""

from itertools import combinations

import pytest

from agentgate.decision.signals.families import (
    ASKING,
    FAMILIES,
    MISSING,
    OF_PROGRAMS,
    STRONG,
    evidence_labels,
    families_of,
)
from agentgate.sites.rules.labels import is_label

# Labels of detectors that are added separately.
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


# Letters without keys count like two.
USUAL = [family for family in FAMILIES if family not in STRONG]


@pytest.mark.parametrize("family", USUAL)
def test_one_family_alone_never_counts(family):
    assert evidence_labels((*FAMILIES[family], *INNOCENT)) == []


def test_what_people_have_is_in_no_family():
    assert all(map(is_label, INNOCENT))
    assert families_of(INNOCENT) == set()


@pytest.mark.parametrize("pair", list(combinations(USUAL, 2)))
def test_two_families_ask_and_do_not_block(pair):
    assert evidence_labels(FAMILIES[name][0] for name in pair) == ["evidence.doubtful"]


def test_three_families_block_where_no_extension_explains_them():
    for three in combinations(USUAL, 3):
        said = evidence_labels(FAMILIES[name][0] for name in three)
        refused = not OF_PROGRAMS.isdisjoint(three)
        assert said == ["evidence.doubtful", *(["evidence.contradictory"] if refused else [])], three


@pytest.mark.parametrize("tool", ["input.text_without_keys", "input.untouched_text", "behavior.none"])
def test_letters_without_keys_ask_by_themselves(tool):
    assert evidence_labels(("input.lone_letters", tool)) == ["evidence.doubtful"]


def test_letters_without_keys_block_with_one_more_family():
    assert evidence_labels(("input.lone_letters", "input.jump")) == ["evidence.doubtful", "evidence.contradictory"]


@pytest.mark.parametrize("label", sorted(ASKING))
def test_some_labels_ask_and_never_block(label):
    assert is_label(label)
    assert evidence_labels((label, "browser.debugger", *INNOCENT)) == ["evidence.doubtful"]
    assert evidence_labels((label, "browser.debugger", "input.jump")) == ["evidence.doubtful"]


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
