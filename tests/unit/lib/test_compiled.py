"""Compiled modules of other code are never loaded."""

import shutil
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from agentgate.lib import compiled
from agentgate.lib.compiled import PACKAGE, SOURCES, build_id, is_stale, load_compiled

NAME = "gateway._check"


def copied(folder: Path) -> Path:
    """Copy the sources."""
    for name in SOURCES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE / name, folder / name)
    return folder


def test_each_source_exists() -> None:
    assert [name for name in SOURCES if not (PACKAGE / name).is_file()] == []


@pytest.mark.parametrize("name", SOURCES)
def test_a_change_of_a_source_gives_another_id(tmp_path: Path, name: str) -> None:
    package = copied(tmp_path)
    assert build_id(package) == build_id()

    with (package / name).open("a") as source:
        source.write("\n")
    build_id.cache_clear()

    assert build_id(package) != build_id()
    (package / name).unlink()
    build_id.cache_clear()
    assert build_id(package) != build_id()


@pytest.mark.parametrize(("content", "stale"), [(build_id(), False), ("agentgate-build-" + "0" * 32, True)])
def test_a_module_of_other_sources_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, *, stale: bool
) -> None:
    library = tmp_path / "_check.so"
    library.write_bytes(b"\x7fELF\0" + content.encode() + b"\0")
    spec = ModuleSpec(f"agentgate.{NAME}", None, origin=str(library))
    loaded: list[str] = []
    monkeypatch.setattr(compiled, "find_spec", lambda _: spec)
    monkeypatch.setattr(compiled, "import_module", lambda name: loaded.append(name) or sys)

    assert is_stale(NAME) is stale
    assert (load_compiled(NAME) is None) is stale
    assert loaded == ([] if stale else [f"agentgate.{NAME}"])


def test_a_module_that_was_not_built_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "find_spec", lambda _: None)
    monkeypatch.setattr(compiled, "import_module", lambda name: __import__(name + "_nothing"))

    assert not is_stale(NAME)
    assert load_compiled(NAME) is None
