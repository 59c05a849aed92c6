"""Sends damaged heads to a compiled check whose caches are full.

`python -m tests.support.compiled_fuzz FOLDER SECONDS SEED` is a process by itself, because the sanitizers have to be
loaded before Python. FOLDER has the modules that were built with them. It prints the numbers of heads and
of responses.
"""

import asyncio
import random
import sys
import tempfile
import time
from inspect import iscoroutine
from pathlib import Path
from typing import Any

from agentgate.lib.settings.schema import read_settings
from tests.api.public.cached_gateway import Proxy, Side, models_of
from tests.api.public.compiled_pair import Writer, some_traffic
from tests.support.compiled import load
from tests.support.gateway import Gate
from tests.support.service import ADMIN_KEY, running_service

HEADS, AT_ONCE = 3_000, 200
PIECES = (
    b"\r\n",
    b"\r",
    b"\n",
    b" ",
    b"  ",
    b":",
    b": ",
    b"://",
    b"host=",
    b";",
    b"\0",
    b"\x7f",
    b"\xff",
    b"\r\n\r\n",
    b"-",
)


def damaged(whole: bytes, chance: random.Random) -> bytes:
    """Return a head with some bytes changed, cut out, repeated or added; sometimes as it was."""
    data = bytearray(whole)
    for _ in range(chance.randrange(4)):
        at, how = chance.randrange(len(data) + 1), chance.randrange(6)
        if how == 0:
            del data[at : at + chance.choice((1, 2, 20, 4_000))]
        elif how == 1:
            data[at:at] = chance.choice(PIECES)
        elif how == 2:
            data[at : at + 1] = bytes((chance.randrange(256),))
        elif how == 3:
            start = chance.randrange(len(data) + 1)
            data[at:at] = data[start : start + chance.choice((3, 60, 900))]
        elif how == 4:
            data[at:at] = b"x" * chance.choice((1, 200, 2_000, 4_000))
        else:
            data = data[:at]
    if chance.random() < 0.5:
        data += b"\r\n\r\n"
    return bytes(data)


def main(folder: Path, seconds: float, seed: int) -> None:
    """Fuzz for so long, with damaged heads of a population that has come before."""
    compiled = load(folder, "http.connection._head")
    # The check calls the scan of this one.
    sys.modules["agentgate.http.connection._head"] = compiled
    check = load(folder, "gateway._check")
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as data_dir:
        environ = {
            "AGENTGATE_DATA_DIR": data_dir,
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
            "AGENTGATE_CONFIRM_CRAWLERS": "off",
        }
        with running_service(read_settings(environ)) as service:
            gates = [Gate(service), Gate(service, mode="monitor")]
            side = Side(service.application, models_of("figures"))
            take = check.CompiledCheck(side.gate, side.gate.take_plainly).take
            writer, odd = Writer(gates, side, chance), Proxy(gates[0], side, seed)
            odd.clear(service.clock.now_ms())
            population = some_traffic(seed, chance)
            heads = [writer.write(next(population), service.clock.now_ms()) for _ in range(HEADS)]
            heads += [odd.request().data for _ in range(HEADS // 4)]

            async def ask(some: list[bytes]) -> int:
                answered = 0
                for data in some:
                    answer: Any = take(data)
                    answered += answer is not None
                    if iscoroutine(answer):
                        await answer
                    if compiled.cut(data) is not None:
                        compiled.lines(data)
                side.recorder._queue.clear()
                side.gate.budget.is_refreshed = False
                await asyncio.sleep(0)
                return answered

            for start in range(0, len(heads), AT_ONCE):
                service.run(ask(heads[start : start + AT_ONCE]))
            asked = answered = 0
            until_s = time.monotonic() + seconds
            while time.monotonic() < until_s:
                some = [damaged(chance.choice(heads), chance) for _ in range(AT_ONCE)]
                answered += service.run(ask(some))
                asked += len(some)
                service.clock.advance(ms=chance.choice((1, 1_000, 61_000)))
    sys.stdout.write(f"{asked} {answered}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
