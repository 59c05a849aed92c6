"""Runs schemathesis against a real process: requests made from the service's own OpenAPI document, good and bad ones.

Shared by the quick version in tests/whole and the long one in tests/soak.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.support.processes import ADMIN_KEY, ServeProcess

SITES = "/v1/admin/sites"
LOGIN = "/v1/admin/login"
# That every request the schema allows is accepted is not asked for: some rules lie between fields, beyond a schema.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
)
RUN_S = 1500.0
CREDENTIALS = 3
LEAST_EXAMPLES = 3
# How often a parameter names something that exists.
LIKELY = 0.8

Reached = Counter[tuple[str, str, int]]


class Fuzzed(NamedTuple):
    """What schemathesis said, its exit code, and how often the service gave which status on which route."""

    exit_code: int
    said: str
    reached: Reached


def fuzz_admin_routes(process: ServeProcess, *, requests: int, phases: str, seed: int) -> Fuzzed:
    """Fuzz every admin route except the sign-in, as the operator, on existing and missing things.

    About `requests` requests are generated, divided among all routes; coverage is added on top.
    """
    examples = max(LEAST_EXAMPLES, requests // _route_count(process))
    places = process.folder / "places.toml"
    places.write_text(_places(process))
    return _fuzz(
        process,
        *("--header", f"X-Admin-Key: {ADMIN_KEY}", "--exclude-path", LOGIN, "--max-examples", str(examples)),
        *("--phases", phases, "--seed", str(seed)),
        config=places,
    )


def fuzz_sign_in(process: ServeProcess, *, examples: int, seed: int) -> Fuzzed:
    """Fuzz the sign-in. It locks itself after a few wrong keys, so it has a separate run."""
    nothing = process.folder / "nothing.toml"
    nothing.write_text("")
    return _fuzz(
        process,
        *("--include-path", LOGIN, "--max-examples", str(examples), "--phases", "coverage,fuzzing"),
        *("--seed", str(seed)),
        config=nothing,
    )


def _route_count(process: ServeProcess) -> int:
    with process.admin() as operator:
        paths = operator.call("GET", "/openapi/admin.json").body["paths"]
    return sum(len(methods) for methods in paths.values())


def _places(process: ServeProcess) -> str:
    """Create a site with credentials, so that most requests get past the check that the site exists."""
    key = "site_fuzzed"
    with process.admin() as operator:
        assert operator.call("POST", SITES, {"name": "Fuzzed", "siteKey": key}).status == 201
        answers = [operator.call("POST", f"{SITES}/{key}/credentials") for _ in range(CREDENTIALS)]
        # Accounts are suspended and deleted too. Of that the site above must not notice anything.
        other = operator.call("POST", SITES, {"name": "Other", "siteKey": "site_other"})
    values = {
        "siteKey": [key],
        "credId": [answer.body["credential"]["id"] for answer in answers],
        "id": [other.body["customerId"]],
    }
    # JSON lists of text are TOML lists too.
    lists = "".join(f"[dictionaries.{name}]\nvalues = {json.dumps(each)}\n" for name, each in values.items())
    uses = "".join(f'{name} = {{ dictionary = "{name}", probability = {LIKELY} }}\n' for name in values)
    return f"{lists}[parameters]\n{uses}"


def _fuzz(process: ServeProcess, *options: str, config: Path) -> Fuzzed:
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config)),
        *("run", f"{process.admin_url}/openapi/admin.json", "--checks", ",".join(CHECKS)),
        # One worker, no memory of earlier runs: the same seed makes the same requests.
        *("--workers", "1", "--generation-database", "none", "--no-color", "--warnings", "off"),
    ]
    done = subprocess.run(
        [*command, *options], cwd=process.folder, capture_output=True, text=True, timeout=RUN_S, check=False
    )
    reached = Counter((event["method"], event["route"], event["status"]) for event in process.events("request"))
    return Fuzzed(done.returncode, done.stdout + done.stderr, reached)
