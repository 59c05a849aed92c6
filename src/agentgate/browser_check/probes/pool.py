"""Pools: programs with the results of real engines, in compressed files that only the service reads.

An installation's own pools are preferred to the shipped one, whose results are public. The two newest of its pools
are live, and the older of them until a day after the newer came.
"""

import base64
import gzip
import hashlib
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import structlog
from msgspec import Struct

from agentgate.browser_check.probes.engines import ENGINES
from agentgate.browser_check.probes.generate import FAMILIES, GENERATOR, family_of
from agentgate.lib.clock import DAY_MS, MINUTE_MS

FORMAT = 1
SEED_BYTES = 32
LEAST_SEED_BYTES = 16
MOST_FILE_BYTES = 16 * 1024 * 1024
FILE_SUFFIX = ".pool.gz"
# Numbers are kept in 16 bits: 1/16 px up to 2,047 px.
SMALLEST, LARGEST = -32_768, 32_767

PoolAnswer = tuple[int, ...]


class PoolRefused(ValueError):  # noqa: N818 - the word the rest of the code uses for a refusal
    """A pool's file cannot be used; the text explains why."""


class AnsweredProgram(Struct, frozen=True):
    """A program and its result: one for all engines, or one for each."""

    number: int
    family: str
    answers: Mapping[str, PoolAnswer]

    def answer_of(self, engine: str | None) -> PoolAnswer | None:
        """Return the result of an engine; None if unknown."""
        return self.answers.get("") or self.answers.get(engine or "")


class Pool(Struct, frozen=True, kw_only=True):
    """Programs of one seed with their results. `seen`: the least and the newest version of each engine that agreed."""

    seed: bytes
    made: str
    seen: Mapping[str, Sequence[int]]
    programs: Mapping[int, AnsweredProgram]
    # Whether its results are public.
    shipped: bool = False
    # Derived. The key names the pool in a draw without revealing the seed.
    by_family: Mapping[str, Sequence[int]] = {}
    key: str = ""

    def __post_init__(self) -> None:
        """Sort the programs by family, once for all draws."""
        families: dict[str, list[int]] = {}
        for known in self.programs.values():
            families.setdefault(known.family, []).append(known.number)
        msgspec.structs.force_setattr(self, "by_family", families)
        msgspec.structs.force_setattr(self, "key", key_of(self.seed))

    def has_seen(self, engine: str | None, version: int | None) -> bool:
        """Return whether a version, or one before and one after it, took part in choosing the programs."""
        versions = self.seen.get(engine or "", ())
        return version is not None and bool(versions) and min(versions) <= version <= max(versions)


class _Line(Struct, frozen=True, array_like=True):
    number: int
    family: str
    answer: str | dict[str, str]


class _File(Struct, frozen=True, kw_only=True):
    format: int
    generator: int
    seed: str
    made: str
    seen: dict[str, list[int]]
    programs: list[_Line]


def key_of(seed: bytes) -> str:
    """Return what names a seed."""
    return hashlib.blake2b(seed, digest_size=6, person=b"pool").hexdigest()


def write_pool(path: Path, pool: Pool) -> None:
    """Write a pool, readable by its owner alone; replace an existing file."""
    lines = [_Line(known.number, known.family, _written(known.answers)) for known in pool.programs.values()]
    file = _File(
        format=FORMAT,
        generator=GENERATOR,
        seed=pool.seed.hex(),
        made=pool.made,
        seen={engine: list(versions) for engine, versions in pool.seen.items()},
        programs=lines,
    )
    packed = gzip.compress(msgspec.json.encode(file), 9, mtime=0)
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(packed)
    beside.replace(path)


def read_pool(path: Path, *, shipped: bool = False) -> Pool:
    """Read a pool; reject a file that is not a pool, or from another generator."""
    try:
        packed = path.read_bytes()
        with gzip.open(path) as opened:
            text = opened.read(MOST_FILE_BYTES + 1)
        file = msgspec.json.decode(text, type=_File)
        seed = bytes.fromhex(file.seed)
    except (OSError, EOFError, ValueError, msgspec.DecodeError) as error:
        raise PoolRefused(f"{path} is not a probe pool: {error}") from error
    if len(text) > MOST_FILE_BYTES or not packed:
        raise PoolRefused(f"{path} is larger than the maximum size of a probe pool")
    if (file.format, file.generator) != (FORMAT, GENERATOR):
        raise PoolRefused(f"{path} is from another release. Generate a new pool with `agentgate probes make`.")
    if len(seed) < LEAST_SEED_BYTES:
        raise PoolRefused(f"{path} has a seed shorter than {LEAST_SEED_BYTES} bytes")
    return Pool(
        seed=seed,
        made=file.made,
        seen={engine: tuple(versions) for engine, versions in file.seen.items()},
        programs={line.number: _known(path, line) for line in file.programs},
        shipped=shipped,
    )


def count_families(numbers: Iterable[int]) -> dict[str, int]:
    """Return how many of these programs each family has."""
    counted = dict.fromkeys(FAMILIES, 0)
    for number in numbers:
        counted[family_of(number)] += 1
    return counted


def _known(path: Path, line: _Line) -> AnsweredProgram:
    if line.number < 0 or line.family != family_of(line.number):
        raise PoolRefused(f"{path}: program {line.number} is not of the family {line.family!r}")
    given: dict[str, str] = {"": line.answer} if isinstance(line.answer, str) else line.answer
    if not set(given) <= {"", *ENGINES}:
        raise PoolRefused(f"{path}: program {line.number} names an engine other than {', '.join(ENGINES)}")
    try:
        answers = {engine: _unpacked(text) for engine, text in given.items()}
    except (ValueError, struct.error) as error:
        raise PoolRefused(f"{path}: the expected result of program {line.number} cannot be read") from error
    return AnsweredProgram(line.number, line.family, answers)


def _written(answers: Mapping[str, PoolAnswer]) -> Any:
    written = {engine: _packed(answer) for engine, answer in answers.items()}
    return written.get("", written)


def _packed(answer: PoolAnswer) -> str:
    return base64.b64encode(struct.pack(f"<{len(answer)}h", *answer)).decode("ascii")


def _unpacked(text: str) -> PoolAnswer:
    packed = base64.b64decode(text, validate=True)
    return struct.unpack(f"<{len(packed) // 2}h", packed)


SHIPPED = Path(__file__).parent / "shipped" / f"shipped{FILE_SUFFIX}"
FOLDER = "probes"
LOOK_MS = MINUTE_MS
LIVE = 2

# Path, moment of the last change in ms, size.
PoolFile = tuple[Path, int, int]


@cache
def _shipped_pool() -> Pool:
    return read_pool(SHIPPED, shipped=True)


class Pools:
    """Reads the pools of a folder, and again when its files change."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._looked_ms: int | None = None
        self._found: list[PoolFile] = []
        self._read: dict[PoolFile, Pool | None] = {}

    def live(self, now_ms: int) -> Sequence[Pool]:
        """Return the pools to draw from, the newest first. The directory is checked once a minute."""
        if self._looked_ms is None or not 0 <= now_ms - self._looked_ms < LOOK_MS:
            self._looked_ms = now_ms
            self._found = list_files(self._folder)
            self._read = {found: pool for found, pool in self._read.items() if found in self._found}
        own: list[Pool] = []
        newer_ms = None
        for found in self._found:
            if len(own) == LIVE or (newer_ms is not None and now_ms - newer_ms >= DAY_MS):
                break
            pool = self._pool(found)
            if pool is not None:
                own.append(pool)
                newer_ms = found[1]
        return own or [self.shipped]

    @property
    def shipped(self) -> Pool:
        """The pool that comes with the service."""
        return _shipped_pool()

    def _pool(self, found: PoolFile) -> Pool | None:
        if found not in self._read:
            try:
                self._read[found] = read_pool(found[0])
            except PoolRefused as error:
                # The other pools still serve; a broken file must not stop the check.
                structlog.get_logger().error("a probe pool is ignored", path=str(found[0]), reason=str(error))
                self._read[found] = None
        return self._read[found]


def list_files(folder: Path | None) -> list[PoolFile]:
    """Return the files of pools in a folder, the newest first."""
    if folder is None or not folder.is_dir():
        return []
    found = []
    for path in folder.glob(f"*{FILE_SUFFIX}"):
        status = path.stat()
        found.append((path, status.st_mtime_ns // 1_000_000, status.st_size))
    return sorted(found, key=lambda one: (-one[1], one[0].name))
