"""The catalog of labels."""

import pytest

from agentgate.decision.signals.facts import NETWORK_EXTREME, NETWORK_HIGH, VISITOR_EXTREME, VISITOR_HIGH
from agentgate.sites.rules.labels import LABELS, is_label

SOURCES = {
    *("net", "http", "path", "ua", "browser", "behavior", "input", "probes", "evidence", "cluster", "privacy_pass"),
    *("assistant", "robots", "site", "rate", "agent", "ai", "receipt", "content", "list", "model", "decoy"),
}


def test_every_label_is_once_under_its_source():
    assert len({label.name for label in LABELS}) == len(LABELS)
    assert {label.source for label in LABELS} == SOURCES
    assert all(label.name.startswith(label.source + ".") and label.meaning for label in LABELS)


@pytest.mark.parametrize(
    "text",
    ["net.datacenter", "net.asn.13335", "net.country.de", "agent.name.gptbot", "model.bot.likely", "receipt.clearance"],
)
def test_a_label_of_the_catalogue_or_of_a_family_is_known(text):
    assert is_label(text)


@pytest.mark.parametrize(
    "text",
    ["", "net", "net.asn", "net.asn.", "net.asn.*", "net.asn.1.2", "net.datacentre", "NET.TOR", "agent.name.a b"],
)
def test_any_other_text_is_not_a_label(text):
    assert not is_label(text)


def test_the_meanings_name_the_limits_active():
    meanings = {label.name: label.meaning for label in LABELS}

    assert f"{VISITOR_HIGH} " in meanings["rate.visitor.high"]
    assert f"{VISITOR_EXTREME} " in meanings["rate.visitor.extreme"]
    assert f"{NETWORK_HIGH:,} " in meanings["rate.network.high"]
    assert f"{NETWORK_EXTREME:,} " in meanings["rate.network.extreme"]
