"""A disk that is full, or fails: decisions continue, and no token opens anything unless its redemption is stored.

No token is redeemed twice.
"""

import contextlib
import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from agentgate.lib.clock import SECOND_MS, FixedClock
from agentgate.lib.settings.schema import read_settings
from tests.support.gateway import Gate, said
from tests.support.service import running_service
from tests.support.tokens import mint
from tests.whole.gateway_process import (
    DECIDED,
    LET_THROUGH,
    REFUSED,
    USED,
    GatewayProcess,
    environ,
    gateway_process,
    wait_until,
)

DISK_MB = 24
BACK_S = 5.0
TOKENS = 12
# Which calls of the system fail, as strace describes them: the first or second, then every few.
NOW_AND_THEN = ("fdatasync:error=EIO:when=1+3", "pwrite64:error=EIO:when=2+5", "pwrite64:error=ENOSPC:when=3+7")
MOST_ATTEMPTS = 30


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A separate file system, which can be filled."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "none", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small file system needs the superuser")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextlib.contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Leave not one block of a file system free."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    assert os.statvfs(folder).f_bavail == 0
    try:
        yield
    finally:
        filler.unlink()


def check_sound(folder: Path) -> None:
    """Every database of a service must be without damage."""
    for path in folder.rglob("*.db"):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            assert list(connection.execute("PRAGMA integrity_check")) == [("ok",)], path
        finally:
            connection.close()


def is_back(gateway: GatewayProcess) -> bool:
    return gateway.ask_with_tokens()[0] == DECIDED and gateway.readiness()[0] == 200


def test_on_a_full_disk_decisions_continue_and_tokens_fail_closed_until_there_is_room(small_disk: Path) -> None:
    with gateway_process(small_disk.parent, AGENTGATE_DATA_DIR=str(small_disk)) as gateway:
        spent = gateway.token(gateway.enforcing)
        assert gateway.enforcing.ask(spent) == DECIDED
        with filled(small_disk):
            # A journal that was longer before has room for a few more.
            wait_until(lambda: gateway.ask_with_tokens() == (REFUSED, LET_THROUGH), BACK_S, "the disk is not full")
            for _ in range(5):
                assert gateway.ask_with_tokens() == (REFUSED, LET_THROUGH)
                assert gateway.enforcing.ask() == DECIDED
                assert gateway.enforcing.ask(spent) in {USED, REFUSED}
            wait_until(lambda: "events" in gateway.readiness()[2], BACK_S, "/readyz does not tell that events wait")
            assert gateway.readiness()[:2] == (503, "unavailable")

        wait_until(lambda: is_back(gateway), BACK_S, "the service is not back although there is room")
        assert gateway.enforcing.ask(spent) == USED
        ledger = gateway.wait_until_settled()
        assert ledger["sent"] == ledger["stored"] + ledger["failures"]
        gateway.close()
        assert gateway.process.stop() == 0
    check_sound(small_disk)


@contextlib.contextmanager
def failing(gateway: GatewayProcess, path: Path, inject: str) -> Iterator[None]:
    """Let calls of the system fail that concern this file, as strace describes them."""
    program = shutil.which("strace")
    if program is None:
        pytest.skip("strace is not installed")
    call = inject.partition(":")[0]
    log = gateway.process.folder / "strace.log"
    what = ["-P", str(path), "-e", f"trace={call}", "-e", f"inject={inject}"]
    with log.open("wb") as output:
        tracer = subprocess.Popen(
            [program, "-f", "-p", str(gateway.process.process_id), *what],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        deadline_s = time.monotonic() + 10
        while b"attached" not in log.read_bytes():
            if tracer.poll() is not None:
                pytest.skip(f"strace may not look at processes here: {log.read_text()}")
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        yield
    finally:
        tracer.terminate()
        tracer.wait(10)


def count_openings(gateway: GatewayProcess, tokens: list[str]) -> Counter[str]:
    """Send each token until the response is clear, and then once more; return how often each was allowed."""
    opened: Counter[str] = Counter()
    for token in tokens:
        for attempt in range(MOST_ATTEMPTS):
            # Different visitors: a single visitor would soon be too quick for the rules.
            said = gateway.enforcing.ask(token, address=f"198.51.100.{attempt}")
            assert said in {DECIDED, REFUSED, USED}
            opened[token] += said == DECIDED
            if said == USED:
                break
    return opened


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """A service whose disk fails in several ways, one after the other."""
    with gateway_process(tmp_path_factory.mktemp("disk")) as running:
        yield running


@pytest.mark.parametrize("inject", NOW_AND_THEN)
def test_a_disk_that_fails_sometimes_lets_no_token_open_twice(gateway: GatewayProcess, inject: str) -> None:
    tokens = [gateway.token(gateway.enforcing) for _ in range(TOKENS)]

    with failing(gateway, gateway.process.data / "hot.db-wal", inject):
        opened = count_openings(gateway, tokens)

    assert (gateway.process.folder / "strace.log").read_text().count("(INJECTED)") > 3, "nothing has failed"
    assert max(opened.values()) <= 1
    assert {gateway.enforcing.ask(token) for token in tokens} == {USED}
    wait_until(lambda: is_back(gateway), BACK_S, "the service is not back although the disk works")
    check_sound(gateway.process.data)


def test_a_disk_that_fails_at_every_commit_makes_the_service_unready_and_opens_nothing(gateway: GatewayProcess) -> None:
    with failing(gateway, gateway.process.data / "hot.db-wal", "fdatasync:error=EIO"):
        for _ in range(3):
            assert gateway.ask_with_tokens() == (REFUSED, LET_THROUGH)
            assert gateway.enforcing.ask() == DECIDED
        assert gateway.readiness() == (503, "unavailable", {"hot"})
    wait_until(lambda: is_back(gateway), BACK_S, "the service is not back although the disk works")


def test_after_a_damaged_journal_no_token_opens_again_and_new_ones_do(tmp_path: Path) -> None:
    with running_service(read_settings(environ(tmp_path))) as service:
        enforcing = Gate(service)
        now_ms = service.clock.now_ms()
        tokens = [mint(service.application.signing_keys, enforcing.site_key, now_ms=now_ms) for _ in range(TOKENS)]
        opened = [enforcing.check("POST", "/login", X_AgentGate_Token=token).status_code for token in tokens]
        assert opened == [204] * TOKENS
        # The files as a crash leaves them, except that one bit of the journal is flipped.
        image = Path(shutil.copytree(tmp_path / "data", tmp_path / "image" / "data")).parent
    journal = image / "data" / "hot.db-wal"
    content = bytearray(journal.read_bytes())
    content[len(content) // 3] ^= 1
    journal.write_bytes(content)

    with running_service(read_settings(environ(image)), FixedClock(now_ms + SECOND_MS)) as service:
        enforcing.service = service
        refused = {said(enforcing.check("POST", "/login", X_AgentGate_Token=token)) for token in tokens}
        service.clock.advance(seconds=1)
        keys, later_ms = service.application.signing_keys, service.clock.now_ms()
        new = enforcing.check("POST", "/login", X_AgentGate_Token=mint(keys, enforcing.site_key, now_ms=later_ms))
        assert "redeemed tokens were lost" in service.log.getvalue()
    assert refused == {(401, "challenge", "token_used")}
    assert said(new) == (204, "allow", "allowed")
