# ruff: noqa: INP001, T201 - a script outside of the package
"""Installs the packages that lock files pin into the environment of this interpreter: `install_locked.py LOCK...`.

Several pips download at the same time, because one pip spends most of its time on reading index pages. The files are
kept in `.wheels`, so the next set-up downloads only changed packages. pip checks the hashes on download and on
installation. Needs the standard library and pip only: at that point nothing else is installed.
"""

import argparse
import hashlib
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Lock, Thread

from pip._vendor.packaging.markers import Marker

ROOT = Path(__file__).parents[1]
# Wheels differ between interpreters and platforms.
WHEELS = ROOT / ".wheels" / f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"
# Downloads at the same time. While one waits for the network, another one parses.
DOWNLOADS = 4

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
LOCKED = ("--no-deps", "--require-hashes")
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)(?:\s*;\s*([^\\\n]+))?", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def read_lock(text: str) -> dict[str, str]:
    """Return the requirements of a lock file that apply to this interpreter, by `name==version`."""
    parts = re.split(r"^(?=[A-Za-z0-9._-]+==)", text, flags=re.MULTILINE)
    found = [(part, pinned) for part in parts if (pinned := _PINNED.match(part))]
    return {
        f"{pinned[1]}=={pinned[2]}": part
        for part, pinned in found
        if pinned[3] is None or Marker(pinned[3].strip()).evaluate()
    }


def missing(requirements: dict[str, str], wheels: Path) -> dict[str, str]:
    """Return the requirements of which no file is in the folder."""
    held = {hashlib.sha256(file.read_bytes()).hexdigest() for file in wheels.glob("*")}
    return {name: part for name, part in requirements.items() if not held & set(_HASH.findall(part))}


class Downloads:
    """Pips that download at the same time and print a line for each package."""

    def __init__(self, wanted: dict[str, str], wheels: Path) -> None:
        """Remember what to download, and where to."""
        self._wanted = wanted
        self._wheels = wheels
        self._lock = Lock()
        self._begun = 0

    def run(self) -> None:
        """Return when all pips have ended. The installation notices a file that is missing then."""
        self._wheels.mkdir(parents=True, exist_ok=True)
        parts = list(self._wanted.values())
        threads = [Thread(target=self._download, args=[parts[start::DOWNLOADS]]) for start in range(DOWNLOADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _download(self, parts: Sequence[str]) -> None:
        if not parts:
            return
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("".join(parts))
            file.flush()
            command = [*PIP, "download", *LOCKED, "--progress-bar", "off", "--dest", str(self._wheels), "-r", file.name]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as pip:  # noqa: S603
                for line in pip.stdout or ():
                    self.report(line)

    def report(self, line: str) -> None:
        """Print which package a line of pip is about, if it begins one."""
        # "Collecting NAME==VERSION" from an index, "Processing PATH" from a folder.
        begun = re.match(r"Collecting (\S+)==(\S+)|Processing .*/([^/-]+)-([^/-]+)-[^/]*$", line)
        if begun is None:
            return
        with self._lock:
            self._begun += 1
            name, version = begun[1] or begun[3], begun[2] or begun[4]
            print(f"setup: {self._begun}/{len(self._wanted)} {name} {version}", flush=True)


def main(arguments: Sequence[str]) -> int:
    """Download what is missing, then install everything without the network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("locks", nargs="+", type=Path, metavar="LOCK")
    parser.add_argument("--target", help="folder to install into. Default: the environment of this interpreter")
    parser.add_argument("--skip", metavar="NAME", help="package to leave out")
    given = parser.parse_args(arguments)
    requirements: dict[str, str] = {}
    for lock in given.locks:
        requirements |= read_lock(lock.read_text(encoding="utf-8"))
    requirements = {name: part for name, part in requirements.items() if name.partition("==")[0] != given.skip}
    wanted = missing(requirements, WHEELS)
    if wanted:
        print(f"setup: downloading {len(wanted)} of {len(requirements)} packages", flush=True)
        Downloads(wanted, WHEELS).run()
    print(f"setup: installing {len(requirements)} packages", flush=True)
    into = ["--target", given.target] if given.target else []
    # Python compiles the modules that it imports. Most modules of the packages are never imported.
    install = [*PIP, "install", "--quiet", "--no-compile", *LOCKED, *into]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(requirements.values()))
        file.flush()
        install += ["-r", file.name]
        offline = subprocess.run([*install, "--no-index", "--find-links", WHEELS], capture_output=True, check=False)  # noqa: S603
        if offline.returncode == 0:
            return 0
        # A package without a wheel for this platform, or a download that failed: one pip does all and shows why.
        return subprocess.run(install, check=False).returncode  # noqa: S603


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
