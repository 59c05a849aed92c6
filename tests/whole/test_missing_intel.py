"""Threat data that an operator configured and that is missing: the service still decides, and reports it."""

from pathlib import Path

from agentgate.lib.settings.schema import read_settings
from tests.support.service import ADMIN_KEY, running_service


def test_a_named_folder_without_a_set_degrades_and_does_not_stop_the_service(tmp_path: Path) -> None:
    environ = {
        "AGENTGATE_DATA_DIR": str(tmp_path / "data"),
        "AGENTGATE_INTEL_DIR": str(tmp_path),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_DRAIN_SECONDS": "0",
    }
    with running_service(read_settings(environ)) as service:
        reply = service.anonymous.get("/readyz")

    assert (reply.status_code, reply.json()["status"]) == (200, "degraded")
    assert reply.json()["checks"]["intel"] == "failed: IntelRefused"
