"""A site with traffic on either store, a receiver for its webhooks, and a clock to move."""

from collections.abc import AsyncIterator, Iterator

import pytest

from agentgate.lib.clock import FixedClock
from agentgate.lib.settings.schema import Settings
from agentgate.server.stores.open import open_stores
from agentgate.storage.migrate import apply
from tests.store.sql_objects import NOW_MS, add_two_tenants
from tests.support.http_receiver import Receiver, receiver
from tests.unit.events.webhooks.scene import Scene


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture
async def scene(settings: Settings, server: Receiver) -> AsyncIterator[Scene]:
    """Yield a scene with two accounts that have one site each."""
    clock = FixedClock(NOW_MS)
    stores = await open_stores(settings, clock)
    for name in stores.databases:
        await apply(stores.databases[name], name, clock=clock)
    await add_two_tenants(stores.store)
    yield Scene(stores=stores, clock=clock, server=server, site=await stores.store.read.sites.find_number("st_1"))
    await stores.close()
