# ruff: noqa: INP001 - outside of the package, for `generate.py`
"""The page of the HTTP APIs, made from the OpenAPI documents, the roles and the limits."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from agentgate.lib.enums import AccountRole, ApiTokenScope, ConsolePermission
from agentgate.people.accounts.records import PERMISSIONS, Limits
from tools.templates import filled

APIS = {
    "public": "Siteverify, browser check, gateway check, agents and drop-in routes. Each call has its own credential.",
    "account": "Users: sign-in, invitations, passwords, two-factor authentication and sessions.",
    "console": "One account: members, sites, credentials, rules, traffic, API tokens and audit trail.",
    "admin": "All accounts, for operators, on the admin listener. Calls that the console API also has are omitted.",
}
# Error code of each limit of an account.
LIMIT_CODES = {
    "sites": "409 `site_limit`",
    "credentials_per_site": "409 `credential_limit`",
    "members": "409 `member_limit`",
    "tokens": "409 `token_limit`",
    "origins_per_site": "400 `origin_limit`",
}
# Assets and the documents themselves.
LEFT_OUT = {"web", "readiness"}
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


def api_page(notice: str, documents: Mapping[str, Mapping[str, Any]]) -> str:
    """Return docs/http-apis.md."""
    in_console = {key.replace("/v1/console/", "/v1/admin/", 1) for key in _keys(documents["console"])}
    parts: list[str] = []
    for name, about in APIS.items():
        parts += [f"### {name.capitalize()} API", "", about, ""]
        by_tag: dict[str, list[str]] = defaultdict(list)
        for path, method, call in _calls(documents[name]):
            tag = call["tags"][0]
            if tag not in LEFT_OUT and not (name == "admin" and f"{method} {path}" in in_console):
                summary = call["summary"].replace("|", "\\|").rstrip(".")
                by_tag[tag].append(f"| `{method} {path}` | {summary} |")
        parts += ["| Call | Purpose |", "| --- | --- |", *(row for rows in by_tag.values() for row in rows), ""]
    roles = list(AccountRole)
    scopes = {each.value for each in ApiTokenScope}
    permissions = [
        f"| `{each.value}` | {' | '.join('yes' if each in PERMISSIONS[role] else '' for role in roles)}"
        f" | {'yes' if each.value in scopes else ''} |"
        for each in ConsolePermission
    ]
    limits = [f"| {_WORD.sub(' ', name)} | {getattr(Limits(), name)} | {code} |" for name, code in LIMIT_CODES.items()]
    return filled(
        "http-apis",
        notice=notice,
        roles=" | ".join(each.value for each in roles),
        lines=" | ".join("---" for _ in roles),
        permissions="\n".join(permissions),
        limits="\n".join(limits),
        calls="\n".join(parts).rstrip(),
    )


def _calls(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, calls in document["paths"].items():
        for method, call in calls.items():
            if method != "parameters":
                yield path, method.upper(), call


def _keys(document: Mapping[str, Any]) -> set[str]:
    return {f"{method} {path}" for path, method, _ in _calls(document)}
