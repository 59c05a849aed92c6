"""Many requests while the service is stopped, frozen or does not know the secret: open loses none, closed allows none.

A hundred for each proxy before a frozen service here; a thousand in every state in the soak.
"""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from agentgate_tools.adapters.render import Installation
from tests.proxies.flood import Backend
from tests.proxies.running import STARTERS, running_proxy
from tests.proxies.visiting import ORIGIN
from tests.support.ports import free_port
from tests.support.processes import ServeProcess, serving

QUICK, SOAK = 100, 1_000
AT_ONCE = 50
ANSWER_S = 20.0
WRONG_SECRET = "ags_" + "w" * 43
STATES = ("stopped", "frozen", "wrong secret")


class Behind(NamedTuple):
    """The service as a process, a site in each mode, and what is behind the proxies."""

    process: ServeProcess
    installations: dict[str, Installation]
    backend: Backend


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    backend = Backend()
    backend.start()
    with serving(Path(tmp_path_factory.mktemp("frozen"))) as process:
        installations = {mode: install(process, mode, backend.port) for mode in ("monitor", "enforce")}
        yield Behind(process, installations, backend)
    backend.stop()


def install(process: ServeProcess, mode: str, upstream_port: int) -> Installation:
    site_key = f"site_{mode}1"
    actions = {"look": {"browserRequired": False}}
    site = {"name": "Shop", "siteKey": site_key, "allowedOrigins": [ORIGIN], "mode": mode, "actions": actions}
    with process.admin() as admin:
        made = admin.call("POST", "/v1/admin/sites", site)
        assert made.status == 201, made
        secret = admin.call("POST", f"/v1/admin/sites/{site_key}/credentials", {"name": "proxy"}).body["secret"]
    return Installation(
        site=site_key,
        service=process.public_url,
        origin=ORIGIN,
        upstream=f"http://127.0.0.1:{upstream_port}",
        secret=secret,
        mode=mode,
    )


@contextmanager
def impaired(behind: Behind, state: str, mode: str) -> Iterator[Installation]:
    """Yield how a proxy is set up while the service cannot decide."""
    installation = behind.installations[mode]
    if state == "stopped":
        yield replace(installation, service=f"http://127.0.0.1:{free_port()}")
    elif state == "wrong secret":
        yield replace(installation, secret=WRONG_SECRET)
    else:
        os.kill(behind.process.process_id, signal.SIGSTOP)
        try:
            yield installation
        finally:
            os.kill(behind.process.process_id, signal.SIGCONT)


def visit_many(port: int, count: int) -> list[int]:
    """Return the statuses of so many requests; 0 for a lost one."""

    def visit(number: int) -> int:
        connection = HTTPConnection("127.0.0.1", port, timeout=ANSWER_S)
        try:
            connection.request("GET", f"/page?n={number}", headers={"Host": "shop.example"})
            return connection.getresponse().status
        except (OSError, HTTPException):
            return 0
        finally:
            connection.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(visit, range(count)))


def judge(behind: Behind, proxy: str, state: str, mode: str, *, count: int) -> None:
    with impaired(behind, state, mode) as installation, running_proxy(proxy, installation) as port:
        behind.backend.ran.clear()
        statuses = visit_many(port, count)

    if mode == "monitor":
        assert statuses == [200] * count
        assert len(behind.backend.ran) == count
    else:
        assert statuses == [503] * count
        assert behind.backend.ran == []


@pytest.mark.parametrize("proxy", STARTERS)
@pytest.mark.parametrize("mode", ["monitor", "enforce"])
def test_open_loses_no_request_and_closed_allows_none(behind: Behind, proxy: str, mode: str) -> None:
    judge(behind, proxy, "frozen", mode, count=QUICK)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("proxy", STARTERS)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("mode", ["monitor", "enforce"])
def test_of_a_thousand_open_loses_none_and_closed_allows_none(
    behind: Behind, proxy: str, state: str, mode: str
) -> None:
    judge(behind, proxy, state, mode, count=SOAK)
