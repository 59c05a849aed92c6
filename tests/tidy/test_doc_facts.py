"""Limits, folders, jobs, defaults and messages in hand-written pages match the code."""

import ast
import re

import pytest

from agentgate.http import request_guard
from agentgate.http.connection.state import ConnectionLimits
from agentgate.lib import limits
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.keyring import ACTIVATION_MS
from agentgate.lib.settings.schema import Settings
from agentgate.people.outbox.jobs import MOST_ATTEMPTS
from agentgate.routes import SURFACES
from tests.tidy import import_table, test_sizes
from tests.tidy.sources import ROOT, listed_paths, sources
from tools.generate import DESCRIBED, generated_files

FIGURES = {
    "CONTRIBUTING.md": (
        f"At most {test_sizes.MOST_FILE_LINES} lines per file, {test_sizes.MOST_FUNCTION_LINES} per function",
        f"{test_sizes.MOST_PARAMETERS} parameters",
        f"The service has {len(list((ROOT / 'src/agentgate').glob('*/__init__.py')))} rooms",
        f"A folder has at most {import_table.MOST_MODULES_IN_A_FOLDER} modules",
    ),
    "docs/operations.md": (
        f"| request target | {request_guard.MAX_TARGET_BYTES // 1024} KiB | 414 |",
        f"| headers | {request_guard.MAX_HEADERS}, {request_guard.MAX_HEADER_BYTES // 1024} KiB in total | 431 |",
        f"| requests queued on one connection | {ConnectionLimits().max_pipelined} | 400 |",
        f"| body | {limits.BODY_BYTES // 1024} KiB | 400 `invalid_request` |",
        f"Workers use a new key after {ACTIVATION_MS // MINUTE_MS} minutes",
        "retries a message eight times" if MOST_ATTEMPTS == 8 else f"retries a message {MOST_ATTEMPTS} times",
    ),
    "docs/databases.md": (
        f"`AGENTGATE_EVENT_DAYS` (default: {Settings().event_days})",
        f"`AGENTGATE_METRIC_DAYS` (default: {Settings().metric_days})",
        f"Requests of a visitor ({limits.GATEWAY_REQUESTS_PER_MINUTE:,} per minute)",
    ),
    "docs/console.md": (
        f"| metrics | {limits.METRICS_RANGE_DEFAULT_DAYS} days | {limits.METRICS_RANGE_MOST_DAYS} days |",
        f"| analytics | {limits.ANALYTICS_RANGE_DEFAULT_HOURS} hours | {limits.ANALYTICS_RANGE_MOST_DAYS} days |",
        f"| visitors, decisions | {limits.TRAFFIC_RANGE_DEFAULT_HOURS} hours | {limits.TRAFFIC_RANGE_MOST_DAYS} days |",
        f"| one visitor | {limits.VISITOR_DETAIL_RANGE_DAYS} days |",
        f"hourly up to {limits.HOURLY_BUCKETS_MOST_HOURS} hours",
        f"percentiles the newest {limits.LATENCY_SAMPLES:,}",
        f"shows the {limits.VISITOR_DETAIL_DECISIONS} newest decisions",
    ),
    "docs/gateway.md": (f"More than {limits.GATEWAY_REQUESTS_PER_MINUTE:,} requests per minute",),
    "docs/browser-check.md": (
        (
            f"| address (IPv6: /64) | {limits.CHALLENGES_PER_MINUTE_PER_ADDRESS} |"
            f" {limits.VERIFICATIONS_PER_MINUTE_PER_ADDRESS} | {limits.INSTRUMENTS_PER_MINUTE_PER_ADDRESS} |"
        ),
        f"| site, all addresses | {limits.CHALLENGES_PER_MINUTE_PER_SITE:,} |",
        f"JSON of up to {limits.BROWSER_BODY_BYTES // 1024} KiB",
    ),
    "docs/http-apis.md": (
        f"Sessions end after {limits.CONSOLE_SESSION_HOURS} hours, or after {limits.CONSOLE_SESSION_IDLE_HOURS} hours",
        f"Invite links work once, for {limits.INVITE_LINK_DAYS} days",
        f"(default: {limits.OVERLAP_SECONDS.default:,}; maximum: {limits.OVERLAP_SECONDS.most:,})",
    ),
}
# A log message within a sentence: words in lower case, no option and no name of a program.
MESSAGE = re.compile(r"`((?:[a-z]+[ ,:]+){2,}[a-z,' ]+)`")
WITH_MESSAGES = ("docs/operations.md", "docs/databases.md", "docs/monitoring.md")


@pytest.mark.parametrize("page", FIGURES)
def test_a_page_has_the_limits_and_defaults_of_the_code(page: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())

    assert [figure for figure in FIGURES[page] if " ".join(figure.split()) not in text] == []


def test_operations_lists_every_timed_job() -> None:
    text = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    table = text.partition("## Timed jobs")[2].partition("###")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    listed = re.findall(r"`([\w-]+)`", " ".join(rows))
    jobs = [
        keyword.value.value
        for source in sources(".py", under="src/agentgate/").values()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Job"
        for keyword in node.keywords
        if keyword.arg == "name" and isinstance(keyword.value, ast.Constant)
    ]

    assert len(jobs) > 10
    assert sorted(listed) == sorted(jobs)


def test_contributing_lists_every_test_folder_and_generated_file() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    folders = {path.split("/")[1] for path in listed_paths() if path.startswith("tests/") and path.count("/") > 1}

    assert len(folders) > 20
    assert sorted(folder for folder in folders if f"[tests/{folder}](tests/{folder})" not in text) == []
    assert sorted(path for path in generated_files() if f"`{path}`" not in text) == []


def test_the_sdk_page_has_the_limits_of_the_build() -> None:
    text = (ROOT / "docs/sdk.md").read_text(encoding="utf-8")
    built = re.findall(r'\["([\w.-]+\.js)", "[^"]+", (\d+)\]', (ROOT / "sdk/build.mjs").read_text(encoding="utf-8"))

    assert len(built) > 4
    assert [name for name, most in built if f"| `{name}` | {most} |" not in text] == []


def test_quoted_log_messages_are_in_the_source() -> None:
    source = "".join(sources(".py", under="src/").values())
    quoted = [(page, found) for page in WITH_MESSAGES for found in MESSAGE.findall((ROOT / page).read_text("utf-8"))]

    assert len(quoted) > 4
    assert [(page, found) for page, found in quoted if found not in source] == []


def test_the_page_of_the_apis_has_every_tag() -> None:
    text = generated_files()["docs/http-apis.md"]
    rows = [row for surface in SURFACES if surface.document_name in DESCRIBED for row in surface.rows]
    shown = set(re.findall(r"^\| `(\w+ /\S+)` \|", text, re.MULTILINE))
    missing = [
        f"{row.method} {row.path}"
        for row in rows
        if row.path.startswith(("/v1/account", "/v1/console")) and f"{row.method} {row.path}" not in shown
    ]

    assert len(shown) > 100
    assert missing == []


def test_every_command_is_on_the_page_of_commands() -> None:
    text = generated_files()["docs/cli.md"]

    for heading in ("agentgate serve", "agentgate site create", "agentgate rules push", "agentgate keys rotate-root"):
        assert f"### {heading}\n" in text
