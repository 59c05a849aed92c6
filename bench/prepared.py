"""Requests that are made before anything is measured, as scripts for wrk."""

from collections.abc import Iterable

_LUA = str.maketrans({"\r": "\\r", "\n": "\\n", '"': '\\"', "\\": "\\\\"})
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
