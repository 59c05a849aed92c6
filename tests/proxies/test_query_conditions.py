"""Conditions on the query behind real proxies: no spelling of a client's query avoids a block."""

from collections.abc import Iterator

import pytest

from tests.proxies.visiting import NAVIGATION, Installed

MATCH = {"paths": ["/page"], "query": {"action": ["history", "raw"]}}
# Spellings that some server reads as the parameter.
EVASIONS = (
    "action=history",
    "x=1&action=raw",
    "action=view&action=history",
    "action=history&action=view",
    "%61ction=%68istory",
    "action=h%69story",
    "x=1;action=history",
    "action[]=history",
    "action%5B%5D=history",
    "ACTION=history",
    "&&action=history",
    "?action=history",
    "%20action=history",
)
ALLOWED = ("", "action=view", "action=historian", "reaction=history")


@pytest.fixture
def queried(site: Installed) -> Iterator[None]:
    """A rule on the query, for the length of a test."""
    path = f"/v1/admin/sites/{site.site_key}/rules"
    before = site.service.operator.get(path).json()
    rule = {"name": "costly", "match": MATCH, "action": "block"}
    body = {"ruleSet": {"version": "1", "rules": [rule], "default_action": "allow"}, "revision": before["revision"]}
    saved = site.service.operator.put(path, json=body)
    assert saved.status_code == 200, saved.text
    yield
    body = {"ruleSet": before["ruleSet"], "revision": before["revision"] + 1}
    assert site.service.operator.put(path, json=body).status_code == 200


def test_no_spelling_of_a_query_avoids_its_block(installed: Installed, queried: None) -> None:
    for query in EVASIONS:
        found = installed.visit("GET", f"/page?{query}", usual=NAVIGATION).status
        assert found == 403, (query, found)
    for query in ALLOWED:
        assert installed.visit("GET", f"/page?{query}" if query else "/page", usual=NAVIGATION).status == 200, query
