"""The real service with one site, its secret, and tokens for it. One for each file: nothing here needs a fresh one."""

from collections.abc import Iterator

import pytest

from agentgate.lib.settings.schema import read_settings
from tests.site_server.gate import Gate
from tests.support.service import ADMIN_KEY, running_service


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    """A site of a running service, on one store: what its server sees is tested on both where the service is."""
    settings = read_settings(
        {
            "AGENTGATE_DATA_DIR": str(tmp_path_factory.mktemp("gate") / "data"),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
            "AGENTGATE_CONFIRM_CRAWLERS": "off",
        }
    )
    with running_service(settings) as service, Gate(service) as made:
        yield made
