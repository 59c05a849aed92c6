"""Rules with an unknown condition, behind real proxies: they match no visitor."""

from collections.abc import Iterator

import pytest

from tests.proxies.visiting import NAVIGATION, Installed

UNKNOWN = [{"all_label": ["ua.old"]}, {"cookies": ["x"]}, {"rate": 5}, {"all_labels": ["ua.browser"], "rates": 1}]


@pytest.fixture
def misspelled(site: Installed) -> Iterator[None]:
    """Rules that block by unknown conditions, for the length of a test."""
    path = f"/v1/admin/sites/{site.site_key}/rules"
    before = site.service.operator.get(path).json()
    rules = [{"name": f"r{at}", "match": match, "action": "block"} for at, match in enumerate(UNKNOWN)]
    body = {"ruleSet": {"version": "1", "rules": rules, "default_action": "allow"}, "revision": before["revision"]}
    saved = site.service.operator.put(path, json=body)
    assert saved.status_code == 200, saved.text
    assert len(saved.json()["warnings"]) == len(UNKNOWN)
    yield
    body = {"ruleSet": before["ruleSet"], "revision": before["revision"] + 1}
    assert site.service.operator.put(path, json=body).status_code == 200


def test_no_visitor_is_blocked_by_an_unknown_condition(installed: Installed, misspelled: None) -> None:
    assert installed.visit("GET", "/page", usual=NAVIGATION).status == 200
