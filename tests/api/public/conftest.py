"""One service on SQLite for all tests of a file, where starting one for each would take longer than the tests."""

from collections.abc import Iterator

import pytest

from agentgate.lib.settings.schema import read_settings
from tests.support.gateway import Gate
from tests.support.service import ADMIN_KEY, RunningService, running_service


@pytest.fixture(scope="module")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """The running service. Its clock may only be moved forward."""
    environ = {
        "AGENTGATE_DATA_DIR": str(tmp_path_factory.mktemp("service") / "data"),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_DRAIN_SECONDS": "0",
        "AGENTGATE_CONFIRM_CRAWLERS": "off",
    }
    with running_service(read_settings(environ)) as running:
        yield running


@pytest.fixture
def gate(service: RunningService) -> Gate:
    """A site behind the gateway."""
    return Gate(service)
