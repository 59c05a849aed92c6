"""A standby of PostgreSQL takes over: with synchronous replication nothing is lost, without it nothing opens twice."""

import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from tests.support.gateway import Gate, said
from tests.support.servers import PostgresServer, _folder, _postgres_programs, _unprivileged, postgres_server, started
from tests.support.service import RunningService, running_service
from tests.support.tokens import mint
from tests.whole.gateway_process import environ

pytestmark = pytest.mark.timeout(120)

ALLOWED, USED = (204, "allow", "allowed"), (401, "challenge", "token_used")
REFUSED = (503, "block", "service_unavailable")
TOKENS = 20
BACK_S = 10.0


class Standby(PostgresServer):
    """A server that follows another one until it is promoted."""

    def initialize_from(self, primary: PostgresServer) -> None:
        """Copy the other server's data directory, and follow that server."""
        command = [self._programs / "pg_basebackup", "--pgdata", self._folder / "data", "--write-recovery-conf"]
        options = ["--dbname", primary.url, "--checkpoint", "fast", "--no-sync"]
        subprocess.run([*command, *options], check=True, capture_output=True, timeout=60, **_unprivileged())

    def promote(self) -> None:
        """Let it take over."""
        self._administer("SELECT pg_promote()")


@contextlib.contextmanager
def standby_of(primary: PostgresServer) -> Iterator[Standby]:
    programs = _postgres_programs()
    assert programs is not None
    if not (programs / "pg_basebackup").exists():
        pytest.skip("there is no pg_basebackup")
    with _folder("agentgate-standby-") as folder:
        server = Standby(programs, folder)
        server.initialize_from(primary)
        with started(server):
            yield server


@contextlib.contextmanager
def two_servers() -> Iterator[tuple[PostgresServer, Standby]]:
    with postgres_server() as primary, standby_of(primary) as standby:
        yield primary, standby


@contextlib.contextmanager
def service_on(folder: Path, *servers: PostgresServer) -> Iterator[RunningService]:
    hosts = ",".join(str(server._folder) for server in servers)
    url = f"postgresql://postgres@/postgres?host={hosts}&target_session_attrs=read-write"
    settings = read_settings(environ(folder, AGENTGATE_DATABASE_URL=url))
    with running_service(settings, SystemClock()) as service:
        yield service


def new_tokens(gate: Gate, count: int) -> list[str]:
    keys, now_ms = gate.service.application.signing_keys, gate.service.clock.now_ms()
    return [mint(keys, gate.site_key, now_ms=now_ms) for _ in range(count)]


def ask(gate: Gate, token: str) -> Any:
    return said(
        gate.check("POST", "/login", X_AgentGate_Token=token, X_Original_Address=f"198.51.100.{hash(token) % 250}")
    )


def wait_until_back(gate: Gate) -> None:
    """Wait until new tokens open. Until then they are blocked, or treated as redeemed ones."""
    deadline_s = time.monotonic() + BACK_S
    while (answer := ask(gate, new_tokens(gate, 1)[0])) != ALLOWED:
        assert answer in {REFUSED, USED}
        assert time.monotonic() < deadline_s, "tokens cannot be spent although a server has taken over"
        time.sleep(0.1)


def test_with_synchronous_replication_a_failover_loses_no_spend(tmp_path: Path) -> None:
    with (
        postgres_server() as primary,
        standby_of(primary) as standby,
        service_on(tmp_path, primary, standby) as service,
    ):
        primary._administer("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary._administer("SELECT pg_reload_conf()")
        gate = Gate(service)
        spent, unspent = new_tokens(gate, TOKENS), new_tokens(gate, TOKENS)
        assert {ask(gate, token) for token in spent} == {ALLOWED}

        primary.stop()
        assert ask(gate, unspent[0]) == REFUSED
        standby.promote()

        wait_until_back(gate)
        assert {ask(gate, token) for token in spent} == {USED}
        assert {ask(gate, token) for token in unspent[1:]} == {ALLOWED}


def test_without_it_what_was_issued_before_a_lossy_failover_opens_nothing(tmp_path: Path) -> None:
    with (
        postgres_server() as primary,
        standby_of(primary) as standby,
        service_on(tmp_path, primary, standby) as service,
    ):
        gate = Gate(service)
        unspent = new_tokens(gate, TOKENS)
        assert ask(gate, new_tokens(gate, 1)[0]) == ALLOWED
        time.sleep(1)
        # It follows no more: what is spent from now on, it never hears of.
        standby._administer("ALTER SYSTEM SET primary_conninfo = ''")
        standby._administer("SELECT pg_reload_conf()")
        time.sleep(1)
        spent = new_tokens(gate, TOKENS)
        assert {ask(gate, token) for token in spent} == {ALLOWED}

        primary.stop()
        assert ask(gate, unspent[0]) == REFUSED
        standby.promote()

        wait_until_back(gate)
        assert {ask(gate, token) for token in [*spent, *unspent]} == {USED}
        assert "redeemed tokens were lost" in service.log.getvalue()
