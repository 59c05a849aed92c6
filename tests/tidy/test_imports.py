"""Imports go one way: the source against the table of who may import whom."""

import ast
from graphlib import TopologicalSorter

import pytest

from tests.tidy.import_table import ALLOWED, CONCEPTS, EVERYWHERE, HOT_MODULES, PARTS_SEEN_BY
from tests.tidy.sources import sources

PACKAGE = "src/agentgate/"


def module_parts(path):
    """Return the dotted parts of a module below the root package: `sites/records.py` is (sites, records)."""
    parts = path.removeprefix(PACKAGE).removesuffix(".py").split("/")
    return tuple(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path, text):
    """Yield line number and dotted name of everything of ours that a module imports, inside functions too."""
    inside = ("agentgate", *module_parts(path))
    package = inside if path.endswith("__init__.py") else inside[:-1]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            origin = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{origin}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] == "agentgate")


def import_problems(path, text):
    """Return a line about each import that the table does not allow."""
    own = (*module_parts(path), "agentgate")[0]
    if own not in ALLOWED:
        return [f"{path}: {own} does not stand in the import table"]
    found = []
    for line, name in imported(path, text):
        target, part, inner = (*name.split(".")[1:], "", "", "")[:3]
        if target in {"__version__", "", own} or target in EVERYWHERE:
            continue
        seen = PARTS_SEEN_BY.get(own)
        if target not in ALLOWED[own]:
            found.append(f"{path}:{line}: {own} may not import {target}")
        elif seen and target in CONCEPTS and not seen & {part.rpartition("_")[2], inner}:
            found.append(f"{path}:{line}: {own} may import only {' and '.join(sorted(seen))} of {target}, not {part}")
    return found


def hot_problems(path, text):
    """Return a line about each `await` and each import of a port in a module of the hot path."""
    if not path.removeprefix(PACKAGE).startswith(HOT_MODULES):
        return []
    waits = [node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Await | ast.AsyncFunctionDef)]
    ports = [line for line, name in imported(path, text) if "ports" in name.split(".")]
    return [f"{path}:{line}: the hot path neither waits nor knows a port" for line in sorted(waits + ports)]


def test_every_import_is_allowed_by_the_table():
    found = [line for path, text in sources(".py", under=PACKAGE).items() for line in import_problems(path, text)]

    assert found == []


def test_the_hot_path_neither_waits_nor_knows_a_port():
    assert [line for path, text in sources(".py", under=PACKAGE).items() for line in hot_problems(path, text)] == []


def test_the_table_has_no_cycle():
    order = list(TopologicalSorter(ALLOWED).static_order())

    assert order.index("core") < order.index("web") < order.index("sites") < order.index("app") < order.index("cli")


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        ("core/ids.py", "from agentgate.web.call import Call", "core/ids.py:1: core may not import web"),
        ("web/asgi.py", "from agentgate.sites import records", "web/asgi.py:1: web may not import sites"),
        ("web/asgi.py", "import agentgate.sites.records", "web/asgi.py:1: web may not import sites"),
        ("web/asgi.py", "from ..store import open", "web/asgi.py:1: web may not import store"),
        ("web/__init__.py", "from ..store import open", "web/__init__.py:1: web may not import store"),
        ("audit/trail.py", "def f():\n    from agentgate import app", "audit/trail.py:2: audit may not import app"),
        ("errors.py", "from agentgate.core.enums import Mode", "errors.py:1: errors may not import core"),
        (
            "store/sql/sites.py",
            "from agentgate.sites.editing import change",
            "store/sql/sites.py:1: store may import only ports and records of sites, not editing",
        ),
        (
            "surfaces/admin.py",
            "from agentgate.sites import records",
            "surfaces/admin.py:1: surfaces may import only endpoints and guards of sites, not records",
        ),
        ("novelty/x.py", "", "novelty/x.py: novelty does not stand in the import table"),
    ],
)
def test_a_forbidden_import_is_found(path, text, problem):
    assert import_problems(PACKAGE + path, text) == [PACKAGE + problem]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("core/ranges.py", "from agentgate.errors import Refused"),
        ("core/ids.py", "from . import clock\nfrom .clock import Clock\nfrom agentgate import __version__"),
        ("sites/editing.py", "from agentgate.audit.trail import record\nfrom agentgate.web.call import Call"),
        ("store/sql/sites.py", "from agentgate.sites.ports import SiteStore\nfrom agentgate.store.open import x"),
        ("app.py", "from agentgate.store.open import open_store\nimport os, json"),
    ],
)
def test_an_allowed_import_passes(path, text):
    assert import_problems(PACKAGE + path, text) == []


def test_waiting_and_ports_in_the_hot_path_are_found():
    text = "from agentgate.rules.ports import RuleStore\nasync def f(x):\n    await x\n"

    assert [line.split(":")[1] for line in hot_problems(PACKAGE + "decide/engine.py", text)] == ["1", "2", "3"]
    assert hot_problems(PACKAGE + "rules/endpoints.py", text) == []
