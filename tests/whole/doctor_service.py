"""A service for the doctor to look at."""

from collections.abc import Iterator

import pytest

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from tests.support.service import ADMIN_KEY, RunningService, running_service

ORIGIN = "https://shop.example"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    settings = read_settings(
        {
            "AGENTGATE_DATA_DIR": str(tmp_path_factory.mktemp("doctor") / "data"),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
            "AGENTGATE_CONFIRM_CRAWLERS": "off",
        }
    )
    with running_service(settings, SystemClock()) as running:
        yield running
