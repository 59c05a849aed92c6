"""The dependencies of the drivers: separate environments for Python and Node.js, apart from the service's."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.adversaries.drivers.stock import find_browser

HERE = Path(__file__).parent
HOME = Path(os.environ.get("AGENTGATE_LAB") or HERE.parents[1] / "build" / "lab")


WITHOUT_BROWSER = frozenset(["http_clients", "documents.mjs", "solver.mjs"])


@dataclass(frozen=True)
class Tools:
    """Paths of the installed tools. Empty: not installed."""

    python: str
    node: str
    modules: str
    chromium: str
    firefox: str


def install() -> None:
    """Install what the lock files name."""
    HOME.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", str(HOME / "venv")], check=True)
    locked = str(HERE / "requirements.lock")
    subprocess.run([str(HOME / "venv/bin/pip"), "install", "-q", "--require-hashes", "-r", locked], check=True)
    node = HOME / "node"
    node.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, node / name)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=node, check=True)


def find_tools() -> Tools:
    """Find the installed tools."""
    python = HOME / "venv/bin/python"
    modules = HOME / "node"
    return Tools(
        python=str(python) if python.exists() else "",
        node=shutil.which("node") or "",
        modules=str(modules) if (modules / "node_modules").exists() else "",
        chromium=find_browser("chromium") or "",
        firefox=find_browser("firefox") or "",
    )


def missing(module: str, tools: Tools) -> str:
    """Return what a driver lacks on this machine, or nothing."""
    needs = {
        "the packages of the drivers (--install)": bool(tools.python),
        "Node.js": bool(tools.node) or not module.endswith(".mjs"),
        "the packages for Node.js (--install)": bool(tools.modules) or not module.endswith(".mjs"),
        "Xvfb": bool(shutil.which("Xvfb")) or module in WITHOUT_BROWSER,
        "chromedriver": bool(shutil.which("chromedriver")) or module != "web_drivers",
        "Chromium": bool(tools.chromium) or module in WITHOUT_BROWSER,
    }
    lacking = [name for name, there in needs.items() if not there]
    return f"missing: {', '.join(lacking)}" if lacking else ""
