"""Requests that are made before anything is measured: as files for our own clients, and as scripts for wrk."""

from collections.abc import Iterable, Iterator
from pathlib import Path

_LUA = str.maketrans({"\r": "\\r", "\n": "\\n", '"': '\\"', "\\": "\\\\"})
_IN_TURNS = """
local at = 0
request = function() at = at % #requests + 1 return requests[at] end
"""
# wrk knows only how long it was told to run, so the script itself looks at the clock. When every request was sent, the
# last one is sent again until every answer is there; whoever answers it says the same once more.
_ONCE = """
local ffi = require("ffi")
ffi.cdef("typedef struct { long s; long us; } moment; int gettimeofday(moment *now, void *zone);")
local now = ffi.new("moment")
local function now_us() ffi.C.gettimeofday(now, nil) return tonumber(now.s) * 1e6 + tonumber(now.us) end
local at, answered, good, began_us = 0, 0, 0, nil
request = function()
  began_us = began_us or now_us()
  at = at + 1
  return requests[math.min(at, #requests)]
end
response = function(status)
  answered = answered + 1
  if status == 200 then good = good + 1 end
  if answered == #requests then
    io.write(string.format('{"seconds": %f, "good": %d}\\n', (now_us() - began_us) / 1e6, good))
    io.flush()
    wrk.thread:stop()
  end
end
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


def script_once(requests: Iterable[bytes]) -> str:
    """Return a script for wrk that sends each request once, and prints as JSON how long that took and what was good."""
    return _table(requests) + _ONCE


def _table(requests: Iterable[bytes]) -> str:
    texts = ",\n".join('"' + each.decode().translate(_LUA) + '"' for each in requests)
    return f"local requests = {{\n{texts}\n}}\n"
