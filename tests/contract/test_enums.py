"""The enumerations against the specification: its shared table, and the sentences that name the others."""

import re
from enum import StrEnum

import pytest

from agentgate.lib import enums
from tests.contract.additions import ADDED_ENUMERATIONS, ADDED_VALUES
from tests.contract.spec import code_words, enumerations, health_checks, spec_text

# Enumeration -> the words of the specification that give all of its values in code style.
QUOTATIONS = {
    "OperatorVia": "`via` (`session` or `key`, required)",
    "SiteHealthStatus": "`status`: `ok`, `no_credentials`, `no_traffic` or `no_routes`;",
    "RulesSource": "`source` (`server` or `site`)",
    "MetricsSource": "| `source` | `events` or `aggregates` |",
    "MetricsBucket": "| `bucket` | `hour` or `day` |",
    "AccountStatus": "account status (`active`, `suspended`, `deleted`)",
    "AccessRequestStatus": "access request status (`pending`, `approved`, `declined`)",
    "DecisionQueue": "`queue` (`labelling`: ",
    "LabelledFilter": "`labelled` (`any` or `no`;",
    "Readiness": "(`ready`, or `degraded` when",
}
# Likewise, where the specification gives the values as plain words.
PLAIN_QUOTATIONS = {
    "UserStatus": "user (active, suspended)",
    "InstallState": "site install status (waiting, live)",
}


def class_name(spec_name):
    words = spec_name.split()
    return spec_name if len(words) == 1 else "".join(word.capitalize() for word in words)


def defined():
    return {
        name: [member.value for member in kind]
        for name, kind in vars(enums).items()
        if isinstance(kind, type) and issubclass(kind, StrEnum) and len(kind)
    }


def test_the_shared_enumerations_are_the_ones_of_the_specification_in_its_order():
    expected = {
        class_name(name): [*values, *ADDED_VALUES.get(class_name(name), [])]
        for name, values in enumerations(spec_text()).items()
    }

    assert list(defined().items())[: len(expected)] == list(expected.items())


@pytest.mark.parametrize(("name", "quotation"), QUOTATIONS.items())
def test_an_enumeration_named_in_the_text_has_the_values_of_its_sentence(name, quotation):
    field = re.match(r"(?:\| )?`(\w+)`(?: \(`| \||: )", quotation)
    values = [word for word in code_words(quotation) if field is None or word != field[1]]

    assert quotation in spec_text()
    assert defined()[name] == values


@pytest.mark.parametrize(("name", "quotation"), PLAIN_QUOTATIONS.items())
def test_an_enumeration_named_in_plain_words_has_the_values_of_its_sentence(name, quotation):
    assert quotation in spec_text()
    assert defined()[name] == quotation.partition("(")[2].rstrip(")").split(", ")


def test_the_health_checks_are_the_ones_of_the_specification():
    assert defined()["HealthCheck"] == [*health_checks(spec_text()), *ADDED_VALUES["HealthCheck"]]


def test_every_other_enumeration_is_a_listed_addition():
    shared = {class_name(name) for name in enumerations(spec_text())}
    known = shared | set(QUOTATIONS) | set(PLAIN_QUOTATIONS) | {"HealthCheck"}

    assert sorted(set(defined()) - known) == sorted(ADDED_ENUMERATIONS)
