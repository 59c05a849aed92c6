"""Runs of a script in Node."""

import json
import subprocess
from pathlib import Path

from tests.browser.chromium import node_path

ENGINES = Path(__file__).parent / "engines"


def run_node(script, given):
    done = subprocess.run(
        [node_path(), ENGINES / script],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
