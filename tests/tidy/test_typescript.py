"""TypeScript modules import each other without a circle."""

import re
from graphlib import CycleError, TopologicalSorter
from posixpath import dirname, join, normpath

import pytest

from tests.tidy.sources import sources

# A dynamic import is a page that is loaded later, and a type is gone in the build.
STATIC = re.compile(r'^(?:import|export) (?!type\b)[^;]*?from "(\.[^"]+)";', re.MULTILINE)


def imports_between(texts):
    """Return path -> the paths that it imports, of modules whose path without its ending is a name in an import."""
    paths = {re.sub(r"\.tsx?\Z", "", path): path for path in texts}
    found = {}
    for path, text in texts.items():
        names = [normpath(join(dirname(path), name)) for name in STATIC.findall(text)]
        found[path] = {paths[name] for name in names if name in paths}
    return found


def test_no_typescript_module_imports_itself_through_others():
    graph = imports_between(sources(".ts", ".tsx"))

    assert sum(map(len, graph.values())) > 300
    TopologicalSorter(graph).prepare()


def test_a_circle_of_two_modules_is_found():
    texts = {"a/one.tsx": 'import { b } from "./two";\n', "a/two.ts": 'import {\n  a,\n} from "../a/one";\n'}

    with pytest.raises(CycleError):
        TopologicalSorter(imports_between(texts)).prepare()
    assert imports_between({**texts, "a/two.ts": 'import type { A } from "./one";\n'})["a/two.ts"] == set()
