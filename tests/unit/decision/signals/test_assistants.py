"""Assistants: lifted blocks, and blocks that remain with every setting of the site."""

import pytest

from agentgate.decision.signals.assistants import ALLOWED, CHALLENGED, NEVER, OPEN, OWN_FAMILIES, assistant_labels
from agentgate.decision.signals.families import FAMILIES, evidence_labels
from agentgate.lib.enums import Assistants
from agentgate.sites.rules.labels import is_label
from tests.unit.decision.signals.requests import make_facts

LIFTED = {Assistants.CHALLENGE: (CHALLENGED,), Assistants.ALLOW: (ALLOWED,), Assistants.BLOCK: ()}
OTHERS = sorted(FAMILIES.keys() - OWN_FAMILIES - {"window"})


def labels_with(setting, *labels):
    return assistant_labels((*labels, *evidence_labels(labels)), make_facts(evidence={}, assistants=setting))


@pytest.mark.parametrize("setting", Assistants)
@pytest.mark.parametrize("label", sorted(OPEN))
def test_an_open_driver_gets_the_sites_setting(setting, label):
    assert labels_with(setting, label) == LIFTED[setting]


@pytest.mark.parametrize("setting", Assistants)
def test_a_block_by_signs_of_drivers_alone_gets_the_sites_setting(setting):
    assert labels_with(setting, *(FAMILIES[name][0] for name in OWN_FAMILIES)) == LIFTED[setting]


@pytest.mark.parametrize("setting", Assistants)
@pytest.mark.parametrize("label", sorted(NEVER))
def test_no_setting_lifts_a_block_of_a_headless_browser_or_of_missing_evidence(setting, label):
    assert is_label(label)
    assert labels_with(setting, "browser.webdriver", label) == ()


@pytest.mark.parametrize("family", OTHERS)
def test_other_evidence_still_blocks_and_is_never_allowed(family):
    other = FAMILIES[family][0]

    assert labels_with(Assistants.ALLOW, "browser.webdriver", other) == (CHALLENGED,)
    assert (
        labels_with(Assistants.ALLOW, "browser.webdriver", "browser.debugger", "input.jump", "input.ruled_path", other)
        == ()
    )


@pytest.mark.parametrize("setting", Assistants)
def test_people_and_hidden_drivers_have_no_label(setting):
    assert labels_with(setting) == ()
    assert labels_with(setting, "browser.debugger", "input.jump") == ()
