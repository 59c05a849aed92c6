"""Rules about requests themselves, and lists, at random: for tests that change a site's configuration."""

import random
from typing import Any

from agentgate.lib.ids import write_visitor
from tests.support.service import RunningService


def new_rules(chance: random.Random) -> list[dict[str, Any]]:
    """Return rules about the requests themselves."""
    matches: list[dict[str, Any]] = [
        {"networks": ["203.0.113.1", "2001:db8::/32"]},
        {"not_networks": ["203.0.113.0/31"], "methods": ["POST"]},
        {"user_agents": ["curl"]},
        {"not_user_agents": ["Mozilla*"], "hosts": ["*.example"]},
        {"headers": {"X-Probe": ["a*"]}},
        {"headers": {"X-Probe": ["*"]}, "not_headers": {"Accept": ["*json*"]}},
        {"headers": {"Cookie": ["*a=b*"]}, "paths": ["/login"]},
        {"paths": ["/api/*", "/x*"]},
        {"not_paths": ["/login", "/a*"]},
        {"hosts": ["other.example"]},
        {"methods": ["GET"]},
        {"asns": [64500], "not_countries": ["de"]},
    ]
    return [
        {
            "name": f"n{number}",
            "match": match,
            "action": chance.choice(("block", "challenge", "allow", "count", "drop")),
        }
        for number, match in enumerate(chance.sample(matches, chance.randint(1, 5)))
    ]


def change_list(service: RunningService, site_key: str, addresses: list[str], chance: random.Random) -> None:
    """Replace the site's lists."""
    path = f"/v1/admin/sites/{site_key}/list-entries"
    for entry in service.operator.get(path).json()["items"]:
        assert service.operator.delete(f"{path}/{entry['id']}").status_code == 204
    visitors = service.application.refresher.decider.visitors
    values = [
        ("address", addresses[0]),
        ("network", "203.0.113.0/31"),
        ("network", "2001:db8::/64"),
        ("program", "curl/8.*"),
        ("program", "GPTBot"),
        ("agent", "GPTBot"),
        ("visitor", write_visitor(visitors.find(site_key, addresses[1]))),
    ]
    for kind, value in chance.sample(values, chance.randint(0, 4)):
        body = {"kind": kind, "value": value, "outcome": chance.choice(("allow", "block"))}
        made = service.operator.post(path, json=body)
        assert made.status_code == 201, made.text
    service.run(service.application.refresher.sites.await_refresh())
