# ruff: noqa: INP001 - a module of `tools`, outside of the package
"""Reference pages that are made from the code: error codes and labels."""

from collections.abc import Iterator

from agentgate.lib import errors
from agentgate.sites.rules.labels import LABELS

# Each table with where a client meets it.
TABLES = (
    (errors.SITEVERIFY, "Siteverify", "`POST /v1/siteverify`; see [Verify tokens](verify-tokens.md)."),
    (errors.RECEIPTS, "Receipts", "`POST /v1/receipts/verify`; see [Verify tokens](verify-tokens.md)."),
    (errors.CONTENT, "Content score", "`POST /v1/content/score`; see [Score form text](score-form-text.md)."),
    (errors.BLOCK_FEED, "Feed for firewalls", "`/v1/decisions`; see [Feed a firewall](feed-firewall.md)."),
    (errors.BROWSER, "Browser check", "`/v1/browser/...`, and the SDK's error callback; see [Browser SDK](sdk.md)."),
    (
        errors.COMPAT,
        "Drop-in verify routes",
        "`error-codes` in the formats of other services; see [Migrate](migrate-captcha.md).",
    ),
    (
        errors.GATEWAY,
        "Gateway",
        "`X-Service-Reason` of the [gateway check](gateway.md), with the decision and status of each reason.",
    ),
    (errors.AGENTS, "Agents", "`/agent/submit` and handoff; see [Submit forms as an agent](agent-actions.md)."),
    (errors.CONSOLE, "Admin, account and console API", "All routes below `/v1/admin`, `/v1/account`, `/v1/console`."),
)


def errors_page(notice: str) -> str:
    """Return the page of all error codes."""
    lines = [
        f"<!-- {notice} -->",
        "",
        "# Error codes",
        "",
        "All error codes by API, with status and default message.",
        "",
        "An error is JSON with `error`, a stable code for programs, and `message`, a text for people that may change.",
        "The same code can have different statuses in different APIs. A star marks codes that the specification lacks.",
    ]
    for table, title, about in TABLES:
        lines += ["", f"## {title}", "", about, "", *_rows(table)]
    return "\n".join(lines) + "\n"


def _rows(table: errors.ErrorTable) -> Iterator[str]:
    if table is errors.GATEWAY:
        yield from ("| Reason | Decision and status |", "| --- | --- |")
        for row in table.rows.values():
            answers = ", ".join(f"{answer.decision} {answer.status}" for answer in row.answers)
            yield f"| `{row.code}` | {answers} |"
        return
    yield from ("| Code | Status | Message |", "| --- | --- | --- |")
    for row in table.rows.values():
        wait = f" `Retry-After: {row.retry_after_s}`." if row.retry_after_s is not None else ""
        message = row.message.replace("|", "\\|")
        yield f"| `{row.code}`{'*' if row.added else ''} | {row.status} | {message}{wait} |"


SOURCES = {
    "net": "Network",
    "http": "Request headers",
    "path": "Path",
    "ua": "User-Agent",
    "browser": "Browser",
    "behavior": "Behavior",
    "input": "Input",
    "probes": "Probes",
    "evidence": "Combined evidence",
    "assistant": "Assistants",
    "cluster": "Clusters",
    "privacy_pass": "Private access tokens",
    "rate": "Rates",
    "agent": "Agents",
    "ai": "AI use",
    "robots": "robots.txt",
    "decoy": "Decoys",
    "site": "Load of the site",
    "receipt": "Tokens and clearances",
    "content": "Content",
    "list": "Site lists",
    "model": "Models",
}


def labels_page(notice: str) -> str:
    """Return the page of all labels, by source."""
    assert {label.source for label in LABELS} <= SOURCES.keys(), "a source without a title"
    lines = [
        f"<!-- {notice} -->",
        "",
        "# Labels",
        "",
        "A label is one finding about a request. Rules match labels, decisions list them, and models use them. The",
        "part before the first dot is the source. A name that ends in `.*` is a family: its last part is data, such as",
        "a country. [Signals](signals.md) explains how the labels are made.",
    ]
    for source, title in SOURCES.items():
        lines += ["", f"## {title}", "", "| Label | Meaning |", "| --- | --- |"]
        lines += [f"| `{label.name}` | {label.meaning} |" for label in LABELS if label.source == source]
    return "\n".join(lines) + "\n"
