"""The SDK's memory-hard proof of work: the worker agrees with hashlib, and native code has no great advantage."""

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from agentgate.browser_check.records import Work
from agentgate.browser_check.work import AMOUNTS, SCRYPT, WorkLevel, is_solved, scrypt_answer

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None and not os.environ.get("REQUIRE_NODE"), reason="Node.js is not installed"
)

ROOT = Path(__file__).resolve().parents[3]
BUILT = ROOT / "src/agentgate/pages/static/sdk/v1"
WORKER, PLAIN = BUILT / "worker.js", BUILT / "plain.js"
# At least so much of what the browser's engine pays, a native solver pays for the same puzzles.
LEAST_SHARE = 0.4
WORK = Work(algorithm=SCRYPT, salt="9f86d081884c7d659a2feaa0c55ad015", count=96, bits=AMOUNTS[WorkLevel.HIGH].bits)

# A worker as a browser starts it, and what it reports. Only the first of both has WebAssembly.
DRIVER = """
const [path, work, hasWasm] = JSON.parse(process.argv[1]);
const vm = require("node:vm"), fs = require("node:fs");
const reports = [];
const scope = {
  postMessage: (report) => reports.push(report), navigator: {}, TextEncoder, atob, Intl, location: {},
};
scope.self = scope;
const context = vm.createContext(scope);
if (!hasWasm) vm.runInContext("delete globalThis.WebAssembly", context);
vm.runInContext(fs.readFileSync(path, "utf8"), context);
const solve = (asked) => { reports.length = 0; scope.onmessage({ data: asked }); return [...reports[0].found]; };
solve({ ...work, count: 24 });
const before = process.cpuUsage();
const found = solve(work);
const used = process.cpuUsage(before);
console.log(JSON.stringify({ found, cpuMs: (used.user + used.system) / 1000 }));
"""


def run_worker(path: Path) -> dict[str, Any]:
    work = {"algorithm": WORK.algorithm, "salt": WORK.salt, "count": WORK.count, "bits": WORK.bits}
    told = json.dumps([str(path), work, path == WORKER])
    done = subprocess.run(["node", "-e", DRIVER, told], capture_output=True, text=True, check=True, timeout=60)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("path", [WORKER, PLAIN], ids=["WebAssembly", "JavaScript"])
def test_a_worker_finds_what_the_service_expects(path: Path) -> None:
    found = run_worker(path)["found"]

    assert found == [scrypt_answer(WORK, index) for index in range(WORK.count)]
    assert is_solved(WORK, found, b"seed")


def test_native_code_pays_40_percent_of_what_the_engine_pays() -> None:
    shares = []
    for _ in range(3):
        engine_ms = run_worker(WORKER)["cpuMs"]
        started = time.process_time()
        for index in range(WORK.count):
            scrypt_answer(WORK, index)
        shares.append((time.process_time() - started) * 1000 / engine_ms)

    assert max(shares) >= LEAST_SHARE, shares


def test_the_built_program_is_in_the_worker_and_as_small_as_its_source() -> None:
    built = re.search(r'"([A-Za-z0-9+/=]{400,})"', (ROOT / "sdk/src/work/scrypt.gen.ts").read_text())

    assert built is not None
    assert built[1] in WORKER.read_text()
    # No other script contains WebAssembly: a page that tries it causes a report of its policy.
    assert [path.name for path in BUILT.glob("*.js") if "WebAssembly" in path.read_text()] == ["worker.js"]
    assert len(built[1]) < 1200
