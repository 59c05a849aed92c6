"""The visitor's address that helpers send to siteverify by default."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from agentgate_client.guarding import visitor_address

SENT = ("81.2.69.160", "2a00:1450:4009::1")
NOT_SENT = (
    "127.0.0.1",
    "10.0.0.7",
    "172.20.1.1",
    "192.168.1.9",
    "100.64.0.1",
    "::1",
    "fd00::1",
    "fe80::1",
    "",
    "unix:",
    "x",
)
GUARDS = Path(__file__).parents[2] / "packages" / "server" / "guards.js"
PHP = Path(__file__).parents[2] / "packages" / "php-client" / "src" / "agentgate.php"


def test_python_sends_public_addresses_only() -> None:
    assert [visitor_address(each) for each in SENT] == list(SENT)
    assert {visitor_address(each) for each in (*NOT_SENT, None)} == {None}


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_node_sends_public_addresses_only() -> None:
    script = (
        f"import {{ visitorAddress }} from {json.dumps(GUARDS.as_uri())};"
        "console.log(JSON.stringify(JSON.parse(process.argv[1]).map((each) => visitorAddress(each) ?? null)))"
    )
    asked = json.dumps([*SENT, "::ffff:81.2.69.160", *NOT_SENT])
    told = subprocess.run(
        ["node", "--input-type=module", "-e", script, asked], capture_output=True, check=True, text=True
    )

    assert json.loads(told.stdout) == [*SENT, "81.2.69.160", *([None] * len(NOT_SENT))]


@pytest.mark.skipif(shutil.which("php") is None, reason="needs PHP")
@pytest.mark.parametrize("address", [*SENT, *NOT_SENT])
def test_php_sends_public_addresses_only(address: str) -> None:
    script = (
        f"require {json.dumps(str(PHP))};"
        f"$_SERVER['REMOTE_ADDR'] = {json.dumps(address)};"
        "$method = new ReflectionMethod('AgentGate\\\\Client', 'visitor'); $method->setAccessible(true);"
        "echo json_encode($method->invoke(null));"
    )
    told = subprocess.run(["php", "-r", script], capture_output=True, check=True, text=True)

    is_sent = address in SENT
    assert json.loads(told.stdout) == ({"remoteAddress": address} if is_sent else [])
