"""`agentgate serve` does not start after a wrong result of the self-test, whichever function gives it."""

import json
import socket
import subprocess
import sys

import pytest

from agentgate.server.selftest.functions import FUNCTIONS
from tests.cli.commands import environment
from tests.tidy.sources import ROOT
from tests.whole.seeded_start import PATTERNS

# The function that a wrong pattern makes wrong.
PATTERN_USERS = {
    "sites.targets:_PLAIN": "sites.targets.is_plain",
    "http.connection.head:_WHOLE": "http.connection.head.cut_plainly",
}


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[object]]:
    folder = tmp_path_factory.mktemp("seeded")
    # A start that comes as far as its listeners fails there, with another message.
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            [sys.executable, "-m", "tests.whole.seeded_start"],
            cwd=ROOT,
            env=environment(folder, AGENTGATE_PUBLIC_LISTEN=listen),
            stdout=subprocess.PIPE,
            timeout=110,
            check=True,
        )
    assert not (folder / "data").exists()
    return json.loads(done.stdout)


def test_without_a_seed_the_start_comes_as_far_as_its_listeners(starts: dict[str, list[object]]) -> None:
    code, error = starts["None"]

    assert code == 2
    assert "cannot listen on" in str(error)


@pytest.mark.parametrize("name", [*PATTERNS, *FUNCTIONS])
def test_a_wrong_result_rejects_the_start(starts: dict[str, list[object]], name: str) -> None:
    code, error = starts[name]

    function = PATTERN_USERS.get(name, name.replace(":", "."))
    assert code == 2
    lines = [line for line in str(error).splitlines() if line.startswith("agentgate: ")]
    assert len(lines) == 1
    assert lines[0].startswith(f"agentgate: self-test failed: {function} gave "), error


def test_a_worker_tests_itself(starts: dict[str, list[object]]) -> None:
    code, error = starts["worker"]

    assert code == 2
    assert str(error).startswith("agentgate: self-test failed: sites.targets.is_plain gave "), error
