"""`agentgate version`: the versions that matter in a bug report."""

import platform
from importlib import metadata

import apsw

from agentgate import __version__
from agentgate.server.cli.options import JsonOption, print_json


def version(as_json: JsonOption = False) -> None:
    """Print the versions of agentgate, Python, SQLite and uvicorn."""
    versions = {
        "agentgate": __version__,
        "python": platform.python_version(),
        # Not the sqlite3 module's: the library in use is the one that apsw brings.
        "sqlite": apsw.sqlite_lib_version(),
        "uvicorn": metadata.version("uvicorn"),
    }
    if as_json:
        print_json(versions)
        return
    for name, number in versions.items():
        print(f"{name} {number}")
