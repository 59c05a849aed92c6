"""Imports go one way: the source against the table of which room may import which."""

import ast
import re
from collections import Counter, defaultdict
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.tidy.import_table import (
    ALLOWED,
    CONCEPT_ROOMS,
    HOT_MODULES,
    KNOW_STORAGE,
    MOST_MODULES_IN_A_FOLDER,
    MOST_NAMES_AT_THE_TOP,
    ORDER,
    SEEN_BY_ROUTES,
)
from tests.tidy.sources import PYTHON_SOURCES, sources

SOURCE, CLIENT = PYTHON_SOURCES
PACKAGE = "src/agentgate/"
EVENT_STORAGE = ("agentgate", "events", "storage")


def module_parts(path):
    """Return the dotted parts of a module: `src/agentgate/lib/ids.py` is (agentgate, lib, ids)."""
    parts = path.removeprefix(CLIENT).removeprefix(SOURCE).removesuffix(".py").split("/")
    return tuple(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path, text):
    """Yield line number and dotted name of everything of ours that a module imports, inside functions too."""
    inside = module_parts(path)
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
        yield from ((node.lineno, name) for name in names if name.split(".")[0].startswith("agentgate"))


def room_of(parts):
    """Return the room of a module; the package itself and the other packages are separate rooms."""
    return parts[1] if parts[0] == "agentgate" and len(parts) > 1 else parts[0]


def import_problems(path, text):
    """Return a line about each import that the table does not allow."""
    own = module_parts(path)
    room = room_of(own)
    if room not in ALLOWED:
        return [f"{path}: {room} does not stand in the import table"]
    found = []
    for line, name in imported(path, text):
        target = tuple(name.split("."))
        if target[-1] in {"agentgate", "__version__"}:
            continue
        if problem := problem_of(path, own, target):
            found.append(f"{path}:{line}: {problem}")
    return found


def problem_of(path, own, target):
    """Return what the table has against one import, or None."""
    room, its = room_of(own), room_of(target)
    if its == room:
        return order_problem(room, own, target)
    if its not in ALLOWED[room]:
        return f"{room} may not import {its}"
    if room == "routes" and its in CONCEPT_ROOMS and not {part.rpartition("_")[2] for part in target} & SEEN_BY_ROUTES:
        return f"routes may import only endpoints and guards, not {'.'.join(target)}"
    if target[:3] == EVENT_STORAGE and room != "server":
        return f"only server may import {'.'.join(target)}; read its queries"
    if its == "storage" and room in CONCEPT_ROOMS and not any(place in path for place in KNOW_STORAGE):
        return f"only a repository may import {'.'.join(target)}"
    return None


def order_problem(room, own, target):
    """Return what the order inside a room has against an import, or None."""
    order = ORDER.get(room, ())
    places = [parts[2] if len(parts) > 2 else "" for parts in (own, target)]
    if not set(places) <= set(order) or order.index(places[0]) >= order.index(places[1]):
        return None
    return f"in {room}, {places[0]} stands before {places[1]} and may not import it"


def hot_problems(path, text):
    """Return a line about each `await` and each import of a port in a module of the decision."""
    if not path.removeprefix(PACKAGE).startswith(HOT_MODULES):
        return []
    waits = [node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Await | ast.AsyncFunctionDef)]
    ports = [line for line, name in imported(path, text) if "ports" in name.split(".")]
    return [f"{path}:{line}: the decision neither waits nor knows a port" for line in sorted(waits + ports)]


def cycles(texts):
    """Return a line about each package whose folders and modules import each other in a circle."""
    graphs = defaultdict(lambda: defaultdict(set))
    modules = {module_parts(path) for path in texts}
    for path, text in texts.items():
        own = module_parts(path)
        for _, name in imported(path, text):
            parts = tuple(name.split("."))
            target = parts if parts in modules else parts[:-1]
            shared = next((at for at, (a, b) in enumerate(zip(own, target, strict=False)) if a != b), None)
            if shared:
                graphs[".".join(own[:shared])][own[shared]].add(target[shared])
    return [f"{package}: {found}" for package, graph in sorted(graphs.items()) if (found := cycle_in(graph))]


def cycle_in(graph):
    """Return a cycle of a graph as a line, or None."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " -> ".join(error.args[1])
    return None


def folder_problems(paths):
    """Return a line about each folder with too many modules, and about too many names at the top."""
    folders = Counter(path.rpartition("/")[0] for path in paths if not path.endswith("/__init__.py"))
    tops = {path.removeprefix(PACKAGE).partition("/")[0] for path in paths if path.startswith(PACKAGE)} - {
        "__init__.py"
    }
    crowded = [
        f"{folder}: {count} modules, at most {MOST_MODULES_IN_A_FOLDER}"
        for folder, count in folders.items()
        if count > MOST_MODULES_IN_A_FOLDER
    ]
    most = MOST_NAMES_AT_THE_TOP
    return crowded + ([f"{len(tops)} names at the top, at most {most}"] if len(tops) > most else [])


def test_every_import_is_allowed_by_the_table():
    found = [
        line for path, text in sources(".py", under=PYTHON_SOURCES).items() for line in import_problems(path, text)
    ]

    assert found == []


def test_the_table_names_what_exists():
    paths = list(sources(".py", under=PYTHON_SOURCES))
    rooms = {room_of(module_parts(path)) for path in paths}
    inside = {(parts[1], parts[2]) for path in paths if len(parts := module_parts(path)) > 2}

    assert rooms == set(ALLOWED)
    assert {(room, name) for room, names in ORDER.items() for name in names} <= inside
    for place in (*HOT_MODULES, *KNOW_STORAGE):
        assert any(place in path for path in paths), place


def test_the_decision_neither_waits_nor_knows_a_port():
    assert [line for path, text in sources(".py", under=PACKAGE).items() for line in hot_problems(path, text)] == []


def test_nothing_is_imported_in_a_circle():
    assert cycle_in(ALLOWED) is None
    assert cycles(sources(".py", under=PYTHON_SOURCES)) == []


def test_no_folder_is_crowded():
    assert folder_problems(sources(".py", under=PYTHON_SOURCES)) == []


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        ("lib/ids.py", "from agentgate.http.call import Call", "lib/ids.py:1: lib may not import http"),
        ("http/asgi.py", "from agentgate.people.audit import records", "http/asgi.py:1: http may not import people"),
        ("http/asgi.py", "import agentgate.sites.records", "http/asgi.py:1: http may not import sites"),
        ("http/asgi.py", "from ..storage import migrate", "http/asgi.py:1: http may not import storage"),
        ("http/__init__.py", "from ..storage import migrate", "http/__init__.py:1: http may not import storage"),
        (
            "people/audit/trail.py",
            "def f():\n    from agentgate.server import application",
            "people/audit/trail.py:2: people may not import server",
        ),
        (
            "people/audit/trail.py",
            "from agentgate.people.accounts.records import Account",
            "people/audit/trail.py:1: in people, audit stands before accounts and may not import it",
        ),
        (
            "sites/editing.py",
            "from agentgate.storage.values import check_values",
            "sites/editing.py:1: only a repository may import agentgate.storage.values.check_values",
        ),
        (
            "sites/repository.py",
            "from agentgate.events.storage.codes import KINDS",
            "sites/repository.py:1: only server may import agentgate.events.storage.codes.KINDS; read its queries",
        ),
        (
            "routes/admin.py",
            "from agentgate.sites import records",
            "routes/admin.py:1: routes may import only endpoints and guards, not agentgate.sites.records",
        ),
        (
            "lib/ids.py",
            "import agentgate_tools.doctor",
            "lib/ids.py:1: lib may not import agentgate_tools",
        ),
        ("novelty/x.py", "", "novelty/x.py: novelty does not stand in the import table"),
    ],
)
def test_a_forbidden_import_is_found(path, text, problem):
    assert import_problems(PACKAGE + path, text) == [PACKAGE + problem]


def test_a_clients_import_of_the_service_is_found():
    path = CLIENT + "agentgate_client/verify.py"

    assert import_problems(path, "from agentgate.lib import enums") == [
        f"{path}:1: agentgate_client may not import lib"
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("events/time_ranges.py", "from agentgate.lib.errors import Refused"),
        ("lib/ids.py", "from . import clock\nfrom .clock import Clock\nfrom agentgate import __version__"),
        ("sites/editing.py", "from agentgate.people.audit.trail import record"),
        ("gateway/check.py", "from agentgate.decision.signals.facts import Rates"),
        ("browser_check/tokens/repository.py", "from agentgate.storage.values import check_values"),
        ("routes/console.py", "from agentgate.events.queries import export_endpoints as export"),
        ("server/application.py", "from agentgate.server.stores.open import open_stores\nimport os, json"),
    ],
)
def test_an_allowed_import_passes(path, text):
    assert import_problems(PACKAGE + path, text) == []


def test_a_circle_of_folders_is_found_though_no_module_is_in_one():
    texts = {
        "src/agentgate/http/a/x.py": "from agentgate.http.b.y import f",
        "src/agentgate/http/b/y.py": "",
        "src/agentgate/http/b/z.py": "from agentgate.http.a import w",
        "src/agentgate/http/a/w.py": "",
    }

    assert [line.partition(":")[0] for line in cycles(texts)] == ["agentgate.http"]
    assert cycles(dict(list(texts.items())[:2])) == []


def test_a_crowded_folder_and_a_crowded_top_are_found():
    modules = [f"src/agentgate/lib/m{number}.py" for number in range(26)]
    tops = [f"src/agentgate/room{number}/x.py" for number in range(MOST_NAMES_AT_THE_TOP + 1)]

    assert folder_problems(modules[:25]) == []
    assert folder_problems(modules) == ["src/agentgate/lib: 26 modules, at most 25"]
    assert folder_problems(tops) == ["15 names at the top, at most 14"]


def test_waiting_and_ports_in_the_decision_are_found():
    text = "from agentgate.sites.rules.ports import RuleStore\nasync def f(x):\n    await x\n"
    found = hot_problems(PACKAGE + "decision/engine.py", text)

    assert [line.split(":")[1] for line in found] == ["1", "2", "3"]
    assert hot_problems(PACKAGE + "sites/rules/endpoints.py", text) == []


IMPORT_OF_TEST = re.compile(r"^\s*(?:from|import) tests\.(?:\w+\.)*test_\w+", re.MULTILINE)


def test_no_test_file_imports_another():
    texts = sources(".py", under=("tests/", "bench/", "tools/"))

    # Code that two test files need is in a module next to them, or in tests/support: moving a test must not break
    # another.
    assert [path for path, text in texts.items() if IMPORT_OF_TEST.search(text)] == []
    assert IMPORT_OF_TEST.search("from tests.api.test_gateway import Gate")
