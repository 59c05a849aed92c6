"""The catalog of signal labels over HTTP."""

from agentgate.sites.rules.labels import LABELS
from tests.support.service import RunningService


def test_operators_read_the_catalogue(service: RunningService) -> None:
    reply = service.operator.get("/v1/admin/signal-labels")

    assert reply.status_code == 200
    items = reply.json()["items"]
    assert len(items) == len(LABELS)
    assert {"name": "net.tor", "source": "net", "meaning": "The IP address is a Tor exit node"} in items
