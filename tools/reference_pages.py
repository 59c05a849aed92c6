# ruff: noqa: INP001 - beside the package and not a part of one
"""Reference pages that are made from the code: error codes."""

from collections.abc import Iterator

from agentgate.lib import errors

# Each table with where a client meets it.
TABLES = (
    (errors.SITEVERIFY, "Siteverify", "`POST /v1/siteverify`; see [On your server](server-side.md)."),
    (errors.RECEIPTS, "Receipts", "`POST /v1/receipts/verify`; see [Tokens](tokens.md)."),
    (errors.BROWSER, "Browser check", "`/v1/browser/...`, and the SDK's error callback; see [the SDK](sdk.md)."),
    (errors.COMPAT, "Drop-in verify routes", "`error-codes` of the other services' forms; see [Moving](migrate.md)."),
    (errors.GATEWAY, "Gateway", "`X-Service-Reason` of the [gateway check](gateway.md): decision and status of each."),
    (errors.AGENTS, "Agents", "`/agent/submit` and handoff; see [Submitting as an agent](agent-submit.md)."),
    (errors.CONSOLE, "Admin, account and console API", "All routes below `/v1/admin`, `/v1/account`, `/v1/console`."),
)


def errors_page(notice: str) -> str:
    """Return the page of all error codes."""
    lines = [
        f"<!-- {notice} -->",
        "",
        "# Error codes",
        "",
        "Every refusal is JSON with `error`, which is stable, and `message`, which is for people and may change.",
        "A code may have another status in another API. Codes marked with a star are beyond the specification.",
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
