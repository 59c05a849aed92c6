"""Serving the OpenAPI documents and their pages, which load nothing from other hosts.

A wheel has the pages as files. A checkout renders each at its first request, with `tools/reference`.
"""

import sys
from collections.abc import Iterable
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from agentgate.http.call import Call
from agentgate.http.openapi import API_VERSION, documents
from agentgate.http.replies import JSON, Reply, Text
from agentgate.http.surface import Surface
from agentgate.lib.records import to_json

HTML = "text/html; charset=utf-8"
PAGE_POLICY = (
    "content-security-policy",
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
)

FOLDER = Path(__file__).parent


class Documents:
    """The documents of one listener and their pages, each made at its first request to keep the start fast."""

    def __init__(self, surfaces: Iterable[Surface]) -> None:
        self._surfaces = tuple(surfaces)
        self._pages: dict[str, bytes] = {}

    @cached_property
    def _documents(self) -> dict[str, dict[str, Any]]:
        paths = {row.path for surface in self._surfaces for row in surface.rows}
        # A surface without a row for its document, such as the probes, is not described.
        described = [each for each in self._surfaces if f"/openapi/{each.document_name}.json" in paths]
        return documents(described, version=API_VERSION)

    @cached_property
    def index(self) -> bytes:
        """The page that lists them."""
        return _built(f"index-{next(iter(self._documents))}", "index_page", self._documents)

    def document(self, call: Call) -> bytes:
        """Return the document that the path names."""
        return to_json(self._documents[_name(call)])

    def page(self, call: Call) -> bytes:
        """Return the page that the path names."""
        name = _name(call)
        if name not in self._pages:
            self._pages[name] = _built(name, "surface_page", self._documents[name])
        return self._pages[name]


async def read_document(call: Call, documents: Documents) -> Text:
    """Read the OpenAPI 3.1 document of this API."""
    return Text(documents.document(call), JSON)


async def read_index(call: Call, documents: Documents) -> Reply[Text]:  # noqa: ARG001 - every handler is given its call
    """Read the list of the APIs on this listener, as a page."""
    return _page(documents.index)


async def read_page(call: Call, documents: Documents) -> Reply[Text]:
    """Read the description of this API, as a page."""
    return _page(documents.page(call))


async def read_style(call: Call) -> Text:  # noqa: ARG001 - every handler is given its call
    """Read the page's style sheets."""
    return Text((FOLDER / "openapi.css").read_bytes(), "text/css; charset=utf-8")


def _built(name: str, renderer: str, described: Any) -> bytes:
    """Return a page of the build, or render it."""
    built = FOLDER / "built" / f"{name}.html"
    if built.is_file():
        return built.read_bytes()
    checkout = str(FOLDER.parents[3])
    if checkout not in sys.path:
        sys.path.append(checkout)
    html: str = getattr(import_module("tools.reference.page"), renderer)(described)
    return html.encode()


def _page(html: bytes) -> Reply[Text]:
    return Reply(body=Text(html, HTML), headers=(PAGE_POLICY,))


def _name(call: Call) -> str:
    # The row's own path, not the caller's: it always names a surface of this listener.
    return call.route.rpartition("/")[2].removesuffix(".json")
