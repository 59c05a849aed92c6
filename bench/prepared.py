"""Requests that are made before anything is measured: as files for our own clients, and as scripts for wrk."""

from collections.abc import Iterable, Iterator
from pathlib import Path

_LUA = str.maketrans({"\r": "\\r", "\n": "\\n", '"': '\\"', "\\": "\\\\"})
_IN_TURNS = """
local at = 0
request = function() at = at % #requests + 1 return requests[at] end
"""


def write_requests(path: Path, requests: Iterable[bytes]) -> None:
    """Write a file of requests, each after its length in four bytes."""
    with path.open("wb") as file:
        for each in requests:
            file.write(len(each).to_bytes(4, "big") + each)


def read_requests(data: bytes) -> Iterator[bytes]:
    """Yield the requests of such a file."""
    at = 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        yield data[at + 4 : at + 4 + length]
        at += 4 + length


def script_in_turns(requests: Iterable[bytes]) -> str:
    """Return a script for wrk that sends these requests in turns."""
    return _table(requests) + _IN_TURNS


def _table(requests: Iterable[bytes]) -> str:
    texts = ",\n".join('"' + each.decode().translate(_LUA) + '"' for each in requests)
    return f"local requests = {{\n{texts}\n}}\n"
