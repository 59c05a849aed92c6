"""`agentgate routes` and `agentgate openapi`: which routes there are, and their descriptions."""

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import agentgate
from agentgate.http.openapi import API_VERSION, document
from agentgate.routes import SURFACES
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, PrintedTable
from agentgate_tools.commands.parameters import Argument, Option


def routes(
    surface: Annotated[str | None, Option("--surface", help="Show only the routes of this surface.")] = None,
) -> CommandAnswer:
    """Print every route: method, path, guard and the location of its handler."""
    rows = list(_rows(surface))
    headings = ("Surface", "Method", "Path", "Guard", "Handler")
    return CommandAnswer(rows, PrintedTable(f"{len(rows)} routes", headings, (row.values() for row in rows)))


def openapi(
    surface: Annotated[str, Argument(help="Name of a surface, such as public, account, console or admin.")],
    out: Annotated[Path | None, Option("--out", help="Output file. Default: standard output.")] = None,
) -> CommandAnswer | None:
    """Print the OpenAPI 3.1 document of a surface."""
    described = document(_surface(surface), version=API_VERSION)
    text = json.dumps(described, indent=2)
    if out is None:
        return CommandAnswer(described, text)
    out.write_text(text + "\n", encoding="utf-8")
    return None


def _rows(name: str | None) -> Iterator[dict[str, str]]:
    for surface in [_surface(name)] if name else SURFACES:
        for row in surface.rows:
            yield {
                "surface": surface.name,
                "method": row.method,
                "path": row.path,
                "guard": _name(row.guard),
                "handler": _place(row.handler),
            }


def _surface(name: str) -> Any:
    by_name = {surface.name: surface for surface in SURFACES}
    if name not in by_name:
        raise CommandRefused(f"unknown surface {name!r}; give one of {', '.join(by_name)}")
    return by_name[name]


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function)).replace(".<locals>", "")


def _place(function: Callable[..., Any]) -> str:
    """Return file and line, with the file as seen from the folder that holds the package."""
    plain = inspect.unwrap(function)
    source = inspect.getsourcefile(plain)
    if source is None:
        return _name(function)
    package = Path(agentgate.__file__).parent.parent
    path = Path(source)
    shown = path.relative_to(package) if path.is_relative_to(package) else path
    return f"{shown}:{inspect.getsourcelines(plain)[1]}"
