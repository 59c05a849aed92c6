"""The shop's pages: templates filled with text, the code that protects each, and what the server saw."""

# ruff: noqa: INP001 - a module of the demo program, not a package

import html
import inspect
import json
import mimetypes
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from string import Template
from typing import Any, Self

from agentgate_client import AgentGateError, VerificationFailed, Verified

HERE = Path(__file__).parent
TITLES = {"home": "Welcome", "signup": "Sign up", "login": "Log in", "comment": "Comment", "api": "Stock"}
PATHS = {"home": "/", "signup": "/signup", "login": "/login", "comment": "/comment", "api": "/api"}
# These comments enclose the part of a template that is worth reading.
SNIPPET = re.compile(r"<!-- snippet -->\n(.*?)<!-- /snippet -->\n", re.DOTALL)


@dataclass(frozen=True)
class Place:
    """The addresses of AgentGate: for this server, for browsers, and for operators."""

    gate_url: str
    gate_public_url: str
    admin_url: str
    site_key: str
    # How a shell looks the operator credential up; never the credential itself.
    admin_key: str

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        gate_url = environ.get("GATE_URL", "http://127.0.0.1:8080")
        return cls(
            gate_url,
            environ.get("GATE_PUBLIC_URL", gate_url),
            environ.get("GATE_ADMIN_URL", "http://127.0.0.1:8081"),
            environ.get("GATE_SITE_KEY", "site_demo_shop"),
            environ.get("GATE_ADMIN_KEY_LOOKUP", "$(cat data/admin.key)"),
        )

    def security_headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """The strictest policy that the check works under, and nothing looser."""
        gate = self.gate_public_url
        policy = (
            f"default-src 'none'; script-src 'self' {gate}; connect-src 'self' {gate}; worker-src blob:; "
            "style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
            "require-trusted-types-for 'script'; trusted-types agentgate"
        )
        return ((b"content-security-policy", policy.encode()), (b"referrer-policy", b"strict-origin-when-cross-origin"))


@dataclass(frozen=True)
class Seen:
    """One check, as the server saw it."""

    path: str
    at: datetime
    outcome: str
    decision_id: str = ""
    request_id: str = ""
    source: str = ""
    took_ms: float = 0.0

    @property
    def is_accepted(self) -> bool:
        return self.outcome == "accepted"

    @classmethod
    def accepted(cls, path: str, verified: Verified) -> Self:
        return cls(path, datetime.now(UTC), "accepted", verified.decision_id, verified.request_id, verified.source)

    @classmethod
    def refused(cls, path: str, problem: AgentGateError) -> Self:
        code = problem.code if isinstance(problem, VerificationFailed) else "unavailable"
        return cls(path, datetime.now(UTC), code)

    def taking(self, took_s: float) -> Self:
        return replace(self, took_ms=took_s * 1000)

    def to_json(self, stock: dict[str, int]) -> bytes:
        shown = {"decisionId": self.decision_id, "requestId": self.request_id, "source": self.source}
        return json.dumps({"stock": stock, "seen": shown}).encode()


def render(
    name: str, place: Place, *, handler: Callable[..., Any], message: str, now: Seen | None, earlier: list[Seen]
) -> bytes:
    """Return a page: its template within the layout."""
    template = (HERE / "pages" / f"{name}.html").read_text(encoding="utf-8")
    values = {
        "site_key": html.escape(place.site_key),
        "gate": html.escape(place.gate_public_url),
        "admin": html.escape(place.admin_url),
        "seen": _seen_table(earlier),
    }
    content = Template(SNIPPET.sub(r"\1", template)).substitute(values)
    layout = (HERE / "pages" / "layout.html").read_text(encoding="utf-8")
    page = Template(layout).substitute(
        values,
        title=TITLES[name],
        nav=_nav(name),
        content=content,
        message=_message(message, now),
        proof=_proof(template, values, handler, now=now, place=place) if name != "home" else "",
    )
    return page.encode()


def static_file(name: str) -> tuple[int, str, bytes] | None:
    """Return a file of the folder `static`; None when it has no such file."""
    path = HERE / "static" / name
    if not re.fullmatch(r"[a-z]+\.[a-z]+", name) or not path.is_file():
        return None
    return 200, mimetypes.guess_type(name)[0] or "application/octet-stream", path.read_bytes()


def _nav(current: str) -> str:
    links = []
    for name, title in TITLES.items():
        mark = ' aria-current="page"' if name == current else ""
        links.append(f'<a href="{PATHS[name]}"{mark}>{"Shop" if name == "home" else title}</a>')
    return "\n".join(links)


def _message(message: str, now: Seen | None) -> str:
    if now is None:
        return ""
    kind = "good" if now.is_accepted else "bad"
    return f'<p class="message {kind}" role="status">{html.escape(message)}</p>'


def _proof(
    template: str, values: Mapping[str, str], handler: Callable[..., Any], *, now: Seen | None, place: Place
) -> str:
    found = SNIPPET.search(template)
    # The displayed code must not run here; in a real page it would.
    shown = found[1].replace('"text/plain"', '"module"') if found else ""
    snippet = Template(inspect.cleandoc(shown)).substitute(values)
    parts = (HERE / "pages" / "proof.html").read_text(encoding="utf-8")
    return Template(parts).substitute(
        page_code=html.escape(snippet),
        server_code=html.escape(inspect.getsource(handler).strip()),
        facts=_facts(now, place) if now is not None else '<p class="quiet">Nothing yet. Send the form.</p>',
    )


def _facts(now: Seen, place: Place) -> str:
    rows = {
        "Outcome": now.outcome,
        "Decision": now.decision_id or "none: the token was not accepted",
        "Request ID": now.request_id or "none",
        "Asked": {"service": "AgentGate", "offline": "the signature alone"}.get(now.source, "nobody"),
        "Took": f"{now.took_ms:.1f} ms",
    }
    listed = "".join(f"<dt>{name}</dt><dd>{html.escape(value)}</dd>" for name, value in rows.items())
    if not now.decision_id:
        return f"<dl>{listed}</dl>"
    address = f"{place.admin_url}/v1/admin/decisions/{now.decision_id}?siteKey={place.site_key}"
    command = f'curl -H "X-Admin-Key: {place.admin_key}" \\\n  "{address}"'
    return (
        f'<dl>{listed}</dl><p>Look at the decision: <a href="{html.escape(address)}">{html.escape(now.decision_id)}</a>'
        f" (signed in as operator), or</p><pre><code>{html.escape(command)}</code></pre>"
    )


def _seen_table(earlier: list[Seen]) -> str:
    if not earlier:
        return '<p class="quiet">Nothing yet. Visit one of the pages above.</p>'
    rows = "".join(
        f"<tr><td>{one.at:%H:%M:%S}</td><td>{html.escape(one.path)}</td>"
        f'<td class="{"good" if one.is_accepted else "bad"}">{html.escape(one.outcome)}</td>'
        f"<td><code>{html.escape(one.decision_id)}</code></td></tr>"
        for one in earlier
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Time (UTC)", "Page", "Outcome", "Decision"))
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
