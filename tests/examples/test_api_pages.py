"""The page of the APIs, followed to the letter: every call with curl succeeds, in the order of the page."""

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.commands import command, environment
from tests.support.ports import free_port

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LONGEST_S = 60
# Fails where the page's own curl would print an error and continue.
CURL = '#!/bin/sh\nexec /usr/bin/curl --fail-with-body --silent --show-error "$@"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    curl = tmp_path / "bin" / "curl"
    curl.parent.mkdir()
    curl.write_text(CURL)
    curl.chmod(0o755)
    return tmp_path


@pytest.fixture
def ports(folder: Path) -> Iterator[dict[str, int]]:
    """A service as a reader has it: with the demo, its data in `data`."""
    ports = {"8080": free_port(), "8081": free_port()}
    listen = {
        "AGENTGATE_PUBLIC_LISTEN": f"127.0.0.1:{ports['8080']}",
        "AGENTGATE_ADMIN_LISTEN": f"127.0.0.1:{ports['8081']}",
        "AGENTGATE_DRAIN_SECONDS": "0",
    }
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command("serve", "--demo", "--demo-port", str(free_port())),
            cwd=folder,
            env=environment(folder, **listen),
            stdout=log,
            stderr=log,
        )
    try:
        deadline = time.monotonic() + LONGEST_S
        while not is_ready(ports["8081"]):
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield ports
    finally:
        process.terminate()
        process.wait(LONGEST_S)


def is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
    except httpx.TransportError:
        return False


def follow(folder: Path, ports: dict[str, int], *pages: str) -> str:
    """Run the shell blocks of the pages as one script; return what was printed."""
    blocks = [block for page in pages for block in BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))]
    script = "\n".join(["set -e -o pipefail", "trap 'echo \"failed at: $BASH_COMMAND\" >&2' ERR", *blocks])
    for printed, free in ports.items():
        script = script.replace(f"127.0.0.1:{printed}", f"127.0.0.1:{free}")
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**environment(folder), "PATH": f"{folder / 'bin'}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_page_of_the_apis(folder: Path, ports: dict[str, int]) -> None:
    told = follow(folder, ports, "http-apis.md")

    assert '"siteKey":"site_example_shop"' in told
    assert '"action":"member.' in told
