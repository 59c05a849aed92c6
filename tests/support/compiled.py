"""The compiled check as the sources have it now: the installed one, or one that is built for the test."""

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType

import pytest

from agentgate.lib.compiled import MODULES, PACKAGE, build_id, load_compiled

ROOT = PACKAGE.parents[1]
HEAD, NAME = MODULES


@functools.cache
def compiled_check() -> ModuleType:
    """Return the module of these very sources; skip the test without a compiler."""
    found = load_compiled(NAME)
    if found is not None:
        return found
    need_compiler()
    folder = build(Path(tempfile.mkdtemp(prefix="agentgate-compiled-")))
    # The check calls the functions of this one.
    sys.modules[f"agentgate.{HEAD}"] = load(folder, HEAD)
    return load(folder, NAME)


def need_compiler() -> None:
    """Skip a test without a compiler."""
    if shutil.which("cc") is None or importlib.util.find_spec("Cython") is None:
        pytest.skip("there is no C compiler")


def build(folder: Path, *options: str) -> Path:
    """Build the compiled modules of the sources into a folder; `options` are for the compiler."""
    for name in MODULES:
        source, code = _path(PACKAGE, name, ".pyx"), _path(folder, name, ".c")
        code.parent.mkdir(parents=True, exist_ok=True)
        _run(sys.executable, "-m", "cython", "-3", "-I", str(PACKAGE.parent), "-o", str(code), str(source))
        include = sysconfig.get_path("include")
        define = f'-DAGENTGATE_BUILD="{build_id(PACKAGE)}"'
        _run("cc", "-shared", "-fPIC", "-O1", define, *options, f"-I{include}", str(code), "-o", str(code)[:-2] + ".so")
    return folder


def load(folder: Path, name: str) -> ModuleType:
    """Load a module that was built into a folder."""
    full, path = f"agentgate.{name}", str(_path(folder, name, ".so"))
    spec = importlib.util.spec_from_file_location(full, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _path(folder: Path, name: str, ending: str) -> Path:
    return folder / (name.replace(".", "/") + ending)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def fuzz(folder: Path, seconds: float, seed: int) -> tuple[int, int]:
    """Fuzz the compiled check under ASAN and UBSAN; return the numbers of heads and of responses."""
    built = build(folder, "-g", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
    libraries = [_run("cc", f"-print-file-name={name}") for name in ("libasan.so", "libubsan.so")]
    environ = {
        **os.environ,
        "LD_PRELOAD": " ".join(libraries),
        # Python keeps memory until it ends.
        "ASAN_OPTIONS": "detect_leaks=0",
        # Each object is allocated separately, so that reading past its end is seen.
        "PYTHONMALLOC": "malloc",
    }
    command = (sys.executable, "-m", "tests.support.compiled_fuzz", str(built), str(seconds), str(seed))
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environ)
    assert done.returncode == 0, f"seed {seed}\n{done.stderr[-8_000:]}"
    asked, answered = done.stdout.split()[-2:]
    return int(asked), int(answered)
