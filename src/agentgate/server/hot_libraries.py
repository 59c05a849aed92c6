"""Maps the libraries that a check runs next to each other, near the C library, before anything else is loaded.

The kernel maps libraries below each other, in the order in which they are loaded. If each were imported where it is
needed, they would be tens of megabytes apart, and a check would take up to 20% longer (decision 0023). Importing this
module maps them; they are initialized where they are imported.
"""

import contextlib
import ctypes
from importlib.util import find_spec
from pathlib import Path

# Packages, and their compiled modules.
LIBRARIES = (
    ("agentgate.http.connection", "_head"),
    ("agentgate.gateway", "_check"),
    ("msgspec", "_core"),
    ("uvloop", "loop"),
)


def library_paths() -> list[Path]:
    """Return the files of the libraries that are installed: without a C compiler, the first two are missing."""
    found: list[Path] = []
    for package, module in LIBRARIES:
        spec = find_spec(package)
        for folder in [] if spec is None else spec.submodule_search_locations or []:
            found += sorted(Path(folder).glob(f"{module}.*.so"))
    return found


for _path in library_paths():
    # One that does not load is reported where it is imported.
    with contextlib.suppress(OSError):
        ctypes.CDLL(str(_path))
