"""The Node package: its own tests, run by Node, some of them against the real service; and its types."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.site_server.gate import SITE_KEY, proxy

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "packages" / "server"
TIMEOUT_S = 60

needs_node = pytest.mark.skipif(
    shutil.which("node") is None and not os.environ.get("REQUIRE_NODE"), reason="Node.js is not installed"
)


@needs_node
def test_the_packages_own_tests_pass_with_the_real_service(gate):
    with proxy(gate.url) as lossy:
        lossy.lost = 2
        environment = {
            "url": gate.url,
            "lossyUrl": lossy.url,
            "secret": gate.secret,
            "siteKey": SITE_KEY,
            "nowMs": gate.now_s() * 1000,
            "tokens": [gate.token() for _ in range(4)],
            "testToken": gate.token(test=True),
        }
        done = subprocess.run(
            ["node", "--test", "--test-reporter=tap", "test/"],
            cwd=PACKAGE,
            env={**os.environ, "AGENTGATE_TEST_GATE": json.dumps(environment)},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    assert done.returncode == 0, done.stdout[-6000:]
    assert "\n# skipped 0\n" in done.stdout
    assert lossy.lost == 0


@needs_node
def test_the_types_of_the_node_package_fit_how_it_is_used(tmp_path):
    used = tmp_path / "used.ts"
    used.write_text(
        f"""
import {{ createClient, fetchGuard, VerificationFailed, type Verified }} from "{PACKAGE.as_posix()}/index.js";
const client = createClient({{ baseUrl: "https://gate.example", secret: "ags_x", retries: 1 }});
export const verified: Promise<Verified> = client.verify({{ token: "a.b.c", expectedAction: "signup" }});
export const guarded = fetchGuard(client, {{ action: "signup" }}, (_request, seen) => new Response(seen.requestId));
export const code: string = new VerificationFailed("token_used", "used").code;
// @ts-expect-error: an action is needed
void client.verify({{ token: "a.b.c" }});
"""
    )
    compiler = ROOT / "node_modules" / "typescript" / "bin" / "tsc"
    options = ["--noEmit", "--strict", "--lib", "ES2022,DOM", "--module", "ESNext", "--moduleResolution", "Bundler"]

    done = subprocess.run(
        ["node", str(compiler), *options, str(used)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    assert done.returncode == 0, done.stdout
