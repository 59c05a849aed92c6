"""`agentgate routes` and `agentgate openapi`: what the service answers to, and its description."""

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import agentgate
from agentgate.server.cli.options import CommandRefused, JsonOption, print_json, print_table


def routes(
    surface: Annotated[str | None, typer.Option("--surface", help="Only the routes of this surface.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print every route: method, path, guard and the place of its handler."""
    rows = list(_rows(surface))
    if as_json:
        print_json(rows)
        return
    print_table(
        f"{len(rows)} routes", ("Surface", "Method", "Path", "Guard", "Handler"), (row.values() for row in rows)
    )


def openapi(
    surface: Annotated[str, typer.Argument(help="Name of a surface, such as public, account, console or admin.")],
    out: Annotated[Path | None, typer.Option("--out", help="Write to this file instead of the screen.")] = None,
) -> None:
    """Print the OpenAPI 3.1 document of a surface."""
    from agentgate.http.openapi.document import API_VERSION, document  # noqa: PLC0415 - keeps the rest of the command line quick

    text = json.dumps(document(_surface(surface), version=API_VERSION), indent=2) + "\n"
    if out is None:
        print(text, end="")
    else:
        out.write_text(text, encoding="utf-8")


def _rows(name: str | None) -> Iterator[dict[str, str]]:
    for surface in [_surface(name)] if name else _surfaces():
        for row in surface.rows:
            yield {
                "surface": surface.name,
                "method": row.method,
                "path": row.path,
                "guard": _name(row.guard),
                "handler": _place(row.handler),
            }


def _surfaces() -> tuple[Any, ...]:
    from agentgate.routes import SURFACES  # noqa: PLC0415 - keeps the rest of the command line quick

    return tuple(SURFACES)


def _surface(name: str) -> Any:
    by_name = {surface.name: surface for surface in _surfaces()}
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
