"""A site behind an adapter: one service, one proxy and one site for all tests of a file."""

import itertools
from collections.abc import Iterator

import pytest

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from tests.browser.gateway.adapter import Adapter, running_adapter
from tests.support.service import ADMIN_KEY, RunningService, running_service

SITE_KEY = "site_behind_adapter"
_addresses = itertools.count(2)


class GatedSite:
    """A site, its adapter and its service."""

    def __init__(self, service: RunningService, adapter: Adapter) -> None:
        self.service = service
        self.adapter = adapter
        # As tests/browser/steps.py has it.
        self.site_key = SITE_KEY

    def url(self, path: str) -> str:
        """Return the address of a path of the site."""
        return self.adapter.origin + path

    def rules(self, *rules: dict[str, object], default: str = "allow") -> None:
        """Let these be all that the site's rules know."""
        path = f"/v1/admin/sites/{SITE_KEY}/rules"
        rule_set = {"version": "1", "rules": list(rules), "default_action": default}
        revision = self.service.operator.get(path).json().get("revision")
        body = {"ruleSet": rule_set} if revision is None else {"ruleSet": rule_set, "revision": revision}
        reply = self.service.operator.put(path, json=body)
        assert reply.status_code == 200, reply.text


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatedSite]:
    """The site, for all tests of a file."""
    settings = read_settings(
        {
            "AGENTGATE_DATA_DIR": str(tmp_path_factory.mktemp("gated") / "data"),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
            "AGENTGATE_CONFIRM_CRAWLERS": "off",
            # The service trusts the adapter only because of its secret, not because of its address.
            "AGENTGATE_TRUSTED_PROXIES": "192.0.2.1/32",
        }
    )
    with running_service(settings, SystemClock()) as service, running_adapter() as adapter:
        body = {
            "siteKey": SITE_KEY,
            "name": "Blue Bottle Shop",
            "mode": "enforce",
            "clearanceWithoutScript": True,
            "allowedOrigins": [adapter.origin],
            "actions": {"read": {"browserRequired": True, "clearance": True}, "pay": {"browserRequired": True}},
            "routes": [
                {"method": "*", "path": "/members", "action": "read"},
                {"method": "*", "path": "/pay", "action": "pay"},
            ],
        }
        assert service.operator.post("/v1/admin/sites", json=body).status_code == 201
        made = service.operator.post(f"/v1/admin/sites/{SITE_KEY}/credentials", json={"name": "gate"})
        adapter.service_url, adapter.secret = service.public_url, made.json()["secret"]
        yield GatedSite(service, adapter)


@pytest.fixture
def gated(shared_site: GatedSite) -> GatedSite:
    """Reset the site to its first state, and visit it from an unused address."""
    shared_site.adapter.reset(f"203.0.113.{next(_addresses)}")
    shared_site.rules()
    return shared_site
