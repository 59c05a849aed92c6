"""`agentgate agent-keys`: keys are made once, directories are signed and checked as verifiers do it."""

import json

import pytest

from agentgate_tools.agent_simulator.sign import AgentSigningKey
from agentgate_tools.commands.agent_keys import MEDIA_TYPE, directory_findings, signed_headers
from tests.cli.commands import agentgate

NOW_MS = 1_800_000_000_000
KEY = AgentSigningKey(bytes([7] * 32))
BODY = json.dumps(KEY.jwks).encode()


def findings(body: bytes = BODY, *, host: str = "agent.example", now_ms: int = NOW_MS, **changed: str) -> list[str]:
    headers = signed_headers(KEY, "agent.example", BODY, created_s=NOW_MS // 1000, hours=24)
    sent = {name.lower(): value for name, value in headers.items()} | {
        name.replace("_", "-"): value for name, value in changed.items()
    }
    return [kind for kind, _ in directory_findings(200, body, sent, host=host, now_ms=now_ms)]


def test_a_signed_directory_is_right() -> None:
    assert findings() == ["ok", "ok"]


@pytest.mark.parametrize(
    "change",
    [
        {"host": "other.example"},
        {"now_ms": NOW_MS + 25 * 3_600_000},
        {"body": BODY + b" "},
        {"signature": "sig1=:AAAA:"},
        {"signature_input": "("},
    ],
)
def test_a_wrong_signature_of_a_directory_is_an_error(change) -> None:
    assert findings(**change)[-1] == "error"


def test_a_key_that_has_expired_and_an_odd_type_are_found() -> None:
    body = json.dumps({"keys": [{**KEY.jwk, "kid": "other", "exp": 1}]}).encode()
    found = directory_findings(200, body, {}, host="agent.example", now_ms=NOW_MS)

    assert [kind for kind, _ in found] == ["error", "hint", "hint", "hint"]
    assert directory_findings(404, b"", {}, host="a.example", now_ms=0)[0][0] == "error"
    assert directory_findings(200, b"[]", {"content-type": MEDIA_TYPE}, host="a.example", now_ms=0)[0][0] == "error"


def test_a_key_is_made_once_and_signs_its_directory(tmp_path) -> None:
    made = agentgate(tmp_path, "agent-keys", "make", str(tmp_path / "keys"), "--json")
    again = agentgate(tmp_path, "agent-keys", "make", str(tmp_path / "keys"))
    signed = agentgate(tmp_path, "agent-keys", "sign", str(tmp_path / "keys"), "agent.example")

    assert (tmp_path / "keys/agent.key").stat().st_mode & 0o777 == 0o600
    assert again.returncode == 2
    assert json.loads(made.stdout)["keyId"] in signed.stdout
    assert "Signature: sig1=:" in signed.stdout


def test_only_https_is_checked(tmp_path) -> None:
    assert agentgate(tmp_path, "agent-keys", "check", "http://agent.example").returncode == 2
