"""Requests that are made before anything is measured, as scripts for wrk."""

from collections.abc import Iterable

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
# wrk knows only how long it was told to run, so the script itself looks at the clock. A connection asks for the next
# request when its answer is there: when each has come once more than there are requests, all are answered. Until then
# the last one is sent again, and whoever answers it says the same once more. To look at the answers here would take the
# client three times as long.
_ONCE = """
local ffi = require("ffi")
ffi.cdef("typedef struct { long s; long us; } moment; int gettimeofday(moment *now, void *zone);")
local now = ffi.new("moment")
local function now_us() ffi.C.gettimeofday(now, nil) return tonumber(now.s) * 1e6 + tonumber(now.us) end
-- The first call is wrk's own, which looks whether there is anything to send.
local at, began_us = -1, nil
request = function()
  at = at + 1
  if at == 1 then began_us = now_us() end
  if at == #requests + CONNECTIONS then
    io.write(string.format('{"seconds": %f}\\n', (now_us() - began_us) / 1e6))
    io.flush()
    wrk.thread:stop()
  end
  return requests[math.max(1, math.min(at, #requests))]
end
"""


def script_once(requests: Iterable[bytes], *, connections: int) -> str:
    """Return a script for one thread of wrk that sends each request once, and prints as JSON how long that took."""
    return _table(requests) + _ONCE.replace("CONNECTIONS", str(connections))


def _table(requests: Iterable[bytes]) -> str:
    texts = ",\n".join('"' + each.decode().translate(_LUA) + '"' for each in requests)
    return f"local requests = {{\n{texts}\n}}\n"
