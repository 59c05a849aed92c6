"""What the drivers need: an own environment for Python and one for Node.js, apart from the service's."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.adversaries.drivers.stock import find_browser

HERE = Path(__file__).parent
HOME = Path(os.environ.get("AGENTGATE_LAB") or HERE.parents[1] / "build" / "lab")


@dataclass(frozen=True)
class Tools:
    """Where things are; empty where they are not."""

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
    """Look for what is there."""
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
    if module.endswith(".mjs"):
        if not tools.node:
            return "there is no Node.js"
        if not (tools.modules and tools.python):
            return "the packages of the drivers are not installed (--install)"
        return "" if tools.chromium or module == "documents.mjs" else "there is no Chromium"
    if not tools.python:
        return "the packages for Python are not installed (--install)"
    if module in ("http_clients",):
        return ""
    if not shutil.which("Xvfb"):
        return "there is no Xvfb"
    if module in ("web_drivers",) and not shutil.which("chromedriver"):
        return "there is no chromedriver"
    return "" if tools.chromium else "there is no Chromium"
