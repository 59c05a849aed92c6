"""A service with two workers, and connections that reach both."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.processes import AdminConnection, ServeProcess, serving

ROOT_SECRET = "5a" * 32

WORKER = re.compile(r'worker="([^"]+)"')

# The kernel decides which worker gets a connection; so many in a row to one of two do not happen.
MOST_CONNECTIONS = 200

Deployment = tuple[ServeProcess, ...]


@contextlib.contextmanager
def two_workers(folder: Path, **settings: str) -> Iterator[Deployment]:
    with serving(folder, AGENTGATE_WORKERS="2", AGENTGATE_DRAIN_SECONDS="0", **settings) as process:
        yield (process,)


def worker_of(connection: AdminConnection) -> str:
    """Return which worker has this connection, as its metrics say."""
    match = WORKER.search(connection.call("GET", "/metrics?of=worker").body.decode())
    assert match is not None
    return match[1]


@contextlib.contextmanager
def one_connection_each(
    process: ServeProcess, headers: dict[str, str] | None = None
) -> Iterator[list[AdminConnection]]:
    """Connect until both workers have a connection."""
    with contextlib.ExitStack() as stack:
        found: dict[str, AdminConnection] = {}
        for _ in range(MOST_CONNECTIONS):
            connection = stack.enter_context(AdminConnection(process.admin_url, headers))
            found.setdefault(worker_of(connection), connection)
            if len(found) == 2:
                break
        assert sorted(found) == ["worker-1", "worker-2"]
        yield [found[name] for name in sorted(found)]
