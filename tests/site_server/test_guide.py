"""The code in docs/verify-tokens.md works as described."""

import json
import re
import subprocess
from pathlib import Path

import pytest

GUIDE = (Path(__file__).parents[2] / "docs" / "verify-tokens.md").read_text(encoding="utf-8")


def blocks(language):
    """Return the code of the guide in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


def test_the_call_with_curl_works(gate):
    (call,) = blocks("sh")
    script = call.replace("eyJ...", gate.token())

    done = subprocess.run(
        ["sh", "-c", script],
        env={"GATE_URL": gate.url, "GATE_SECRET": gate.secret, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )

    answer = json.loads(done.stdout)
    assert (answer["success"], answer["action"], answer["requestId"]) == (True, "signup", "order-4711")


@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_of_the_guide_imports_what_there_is(code):
    compile(code.replace("[...,", "[").replace("await ", ""), "guide", "exec")

    for line in re.findall(r"^from agentgate.*$", code, re.MULTILINE):
        exec(line, {})


def test_every_code_of_siteverify_is_in_the_guide():
    from agentgate.lib.errors import SITEVERIFY

    rows = re.findall(r"^\| (`[a-z_`, ]+`) \| (\d{3}) \|", GUIDE, re.MULTILINE)
    told = {name: int(status) for names, status in rows for name in re.findall(r"`([a-z_]+)`", names)}

    assert told == {code: row.status for code, row in SITEVERIFY.rows.items()}
