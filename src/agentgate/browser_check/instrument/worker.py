"""Facts that hold only in a worker, for an instrument program's part for the worker."""

from typing import Final

from agentgate.browser_check.instrument.draw import Piece
from agentgate.browser_check.instrument.state import Maker

FACTS: Final = (
    "self instanceof WorkerGlobalScope",
    "typeof document=='undefined'",
    "/\\[native code]/.test(Function.prototype.toString.call(importScripts))",
    "typeof window=='undefined'",
    "Object.getPrototypeOf(navigator)===WorkerNavigator.prototype",
    "typeof WorkerLocation=='function'",
    "Object.prototype.toString.call(self)=='[object DedicatedWorkerGlobalScope]'",
    "/\\[native code]/.test(Function.prototype.toString.call(postMessage))",
)


def worker_facts(maker: Maker) -> Piece:
    """Draw facts that hold only in a worker."""
    draw = maker.draw
    total, scripts = 0, []
    for fact in draw.some(FACTS, 2):
        right = draw.below(1 << 15)
        scripts.append(f"({fact}?{right}:{right ^ draw.between(1, 1 << 14)})")
        total = total * 31 + right
    script = f"{scripts[0]}*31+{scripts[1]}"
    return Piece(script, lambda _: total)
