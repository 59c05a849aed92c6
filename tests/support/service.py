"""The whole service, running in a thread of the test's own process: real listeners, real stores, a clock to move."""

import asyncio
import io
import re
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import uvloop

from agentgate.lib.clock import Clock, FixedClock
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.settings.schema import Settings
from agentgate.lib.telemetry import logs
from agentgate.server.application import Application
from agentgate.server.workers import open_sockets
from agentgate.storage.postgres.database import PostgresDatabase
from tests.support.api_client import ApiClient

T = TypeVar("T")

ADMIN_KEY = "agk_test_operator_credential_of_the_suite"
SECRET = re.compile(r"ag[skt]_[A-Za-z0-9_-]{40}")
ATTEMPTS = 5
PATIENCE_S = 2.0
# The service waits one second for a connection to PostgreSQL. While other tests run, a new connection can take longer.
CONNECTION_S = 10.0
NOON_MS = 1_794_744_000_000  # 2026-11-15T12:00:00Z


class RunningService:
    """A started service and the ways to talk to it."""

    def __init__(
        self, application: Application, loop: asyncio.AbstractEventLoop, *, clock: Any, log: io.StringIO
    ) -> None:
        self.application = application
        self.log = log
        self.clock = clock
        self._loop = loop
        self.public_url = "http://{}:{}".format(*application.public_address)
        self.admin_url = "http://{}:{}".format(*application.admin_address)
        self.public = ApiClient(self.public_url)
        self.anonymous = ApiClient(self.admin_url)
        self.operator = ApiClient(self.admin_url, headers={"X-Admin-Key": ADMIN_KEY})
        self._clients = [self.public, self.anonymous, self.operator]

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the service's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=30)

    def change(self, work: Callable[[Any], Awaitable[T]]) -> T:
        """Run a unit of work in the store; again when a busy machine gave no connection in time."""
        for _ in range(ATTEMPTS):
            try:
                return self.run(self.application.stores.store.change(work))
            except StoreUnavailable as failure:
                last = failure
        raise last

    def new_client(self) -> ApiClient:
        """Return a client of the admin listener without cookies or key."""
        client = ApiClient(self.admin_url)
        self._clients.append(client)
        return client

    def new_public_client(self) -> ApiClient:
        """Return a client of the public listener without cookies."""
        client = ApiClient(self.public_url)
        self._clients.append(client)
        return client

    def close_clients(self) -> None:
        """Close the connections."""
        for client in self._clients:
            client.close()


def _be_patient(application: Application) -> None:
    """Wait for Redis longer than the service does, which counts for itself after 100 ms.

    While other tests run, Redis easily takes longer than that, and a limit would apply later than a test expects.
    """
    if application.settings.redis_url:
        primary: Any = application.stores.shared_cache._primary  # type: ignore[attr-defined]
        primary._timeout_s = PATIENCE_S
        primary._redis.connection_pool.connection_kwargs["socket_timeout"] = PATIENCE_S


@contextmanager
def _patient_pools() -> Iterator[None]:
    """Give PostgreSQL more time for a connection in every database that is created in the block."""
    defaults = PostgresDatabase.__init__.__kwdefaults__
    assert defaults is not None
    before = defaults["acquire_timeout_s"]
    defaults["acquire_timeout_s"] = CONNECTION_S
    try:
        yield
    finally:
        defaults["acquire_timeout_s"] = before


@contextmanager
def running_service(settings: Settings, clock: Clock | None = None) -> Iterator[RunningService]:
    """Start the service, and stop it afterwards. The clock does not advance unless another one is passed."""
    clock = clock or FixedClock(NOON_MS)
    log = io.StringIO()
    logs.configure("json", "info", log)
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> Application:
        with _patient_pools():
            application = await Application.open(settings, clock=clock)
        _be_patient(application)
        await application.start(*open_sockets(settings).listeners)
        return application

    application = asyncio.run_coroutine_threadsafe(start(), loop).result(timeout=30)
    service = RunningService(application, loop, clock=clock, log=log)
    try:
        yield service
    finally:
        service.close_clients()
        asyncio.run_coroutine_threadsafe(application.close(), loop).result(timeout=30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()
    # The log of a test must not contain any secret that grants access.
    assert ADMIN_KEY not in log.getvalue()
    assert SECRET.search(log.getvalue()) is None
