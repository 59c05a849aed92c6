"""The Go client against the real service."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.site_server.conftest import gate
from tests.site_server.gate import ORIGIN, proxy

__all__ = ["gate"]

PACKAGE = Path(__file__).parents[2] / "packages" / "go-client"
PROGRAM = """package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	agentgate "agentgate.example/client"
)

func main() {
	client, err := agentgate.New(os.Args[1], os.Args[2])
	if err != nil {
		panic(err)
	}
	var asked []agentgate.Question
	if err := json.Unmarshal([]byte(os.Args[3]), &asked); err != nil {
		panic(err)
	}
	told := []string{}
	for _, question := range asked {
		verified, err := client.Verify(context.Background(), question)
		var refused *agentgate.VerificationFailed
		var away *agentgate.Unavailable
		switch {
		case err == nil:
			told = append(told, verified.Action)
		case errors.As(err, &refused):
			told = append(told, refused.Code)
		case errors.As(err, &away):
			told = append(told, "away "+away.RequestID)
		}
	}
	json.NewEncoder(os.Stdout).Encode(told)
}
"""

pytestmark = [pytest.mark.soak, pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that uses the package as its README describes."""
    folder = tmp_path_factory.mktemp("go")
    shutil.copytree(PACKAGE, folder / "client")
    (folder / "main.go").write_text(PROGRAM)
    replaced = "require agentgate.example/client v0.0.0\nreplace agentgate.example/client => ./client\n"
    (folder / "go.mod").write_text(f"module try\n\ngo 1.19\n\n{replaced}")
    environment = {
        **os.environ,
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "off",
        "GOCACHE": str(folder / "cache"),
        "HOME": str(folder),
    }
    for command in (["go", "vet", "./..."], ["go", "build", "-o", "try", "."]):
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=110, check=False
        )
        assert done.returncode == 0, done.stderr
    return folder / "try"


def run(program, url, secret, *asked):
    given = json.dumps([{"expectedAction": "signup", **each} for each in asked])
    done = subprocess.run([program, url, secret, given], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def test_a_token_is_redeemed_once_and_for_its_action_and_origin(program, gate):
    token = gate.token()
    told = run(
        program,
        gate.url,
        gate.secret,
        {"token": token, "expectedOrigin": ORIGIN},
        {"token": token},
        {"token": gate.token("login")},
        {"token": ""},
        {"token": "no token"},
    )

    assert told == ["signup", "token_used", "action_mismatch", "receipt_required", "invalid_token"]


def test_a_lost_response_is_requested_again_and_a_service_that_is_unavailable_is_reported(program, gate):
    with proxy(gate.url) as lossy:
        lossy.lost = 2
        told = run(program, lossy.url, gate.secret, {"token": gate.token()})
    away = run(program, "http://127.0.0.1:9", gate.secret, {"token": gate.token(), "requestId": "order-1"})

    assert told == ["signup"]
    assert away == ["away order-1"]
