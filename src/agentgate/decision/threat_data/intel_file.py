"""The imported set as one file: written whole or not at all, checked when it is read.

It is a ZIP archive of a manifest and plain little-endian arrays, so that loading is copying, not parsing.
"""

import io
import os
import sys
import zipfile
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from agentgate.decision.threat_data.known_agents import KnownAgent
from agentgate.decision.threat_data.networks import (
    EIGHT_BYTES,
    FLAG_BYTES,
    FOUR_BYTES,
    AddressSegments,
    AddressTable,
    Range,
    check_segments,
    make_flags,
)
from agentgate.decision.threat_data.user_agent_tokens import Token

FILE_NAME = "threat-data.zip"
FORMAT = 2
MOST_BYTES = 512 * 1024 * 1024


class IntelRefused(Exception):  # noqa: N818 - told in one line, not a fault
    """Threat data cannot be used. The message gives the reason and what would be right."""


class SourceLine(Struct, frozen=True, kw_only=True):
    """One file that data came from."""

    file: str
    kind: str
    taken: int
    refused: int = 0


class ImportedSet(Struct, frozen=True, kw_only=True):
    """The set that `agentgate intel update` made from the files of a folder."""

    created_ms: int
    sources: tuple[SourceLine, ...] = ()
    tokens: tuple[Token, ...] = ()
    agents: tuple[KnownAgent, ...] = ()
    flags: AddressTable = msgspec.field(default_factory=lambda: make_flags([], []))
    asn: AddressTable | None = None
    country: AddressTable | None = None


class Manifest(Struct, frozen=True, kw_only=True):
    """The part of the file that describes the rest."""

    format: int
    created_ms: int
    sources: tuple[SourceLine, ...]
    tokens: tuple[Token, ...]
    agents: tuple[KnownAgent, ...] = ()
    # Upper half of IPv6 as text -> ranges of the lower half.
    narrow: Mapping[str, tuple[Range, ...]]


def write_set(path: Path, imported: ImportedSet) -> None:
    """Write the set to a file next to its path and move it there when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    with unfinished.open("wb") as file:
        file.write(encode_set(imported))
        file.flush()
        # Without fsync, a power cut after the rename could leave a complete name on incomplete content.
        os.fsync(file.fileno())
    unfinished.replace(path)


def encode_set(imported: ImportedSet) -> bytes:
    manifest = Manifest(
        format=FORMAT,
        created_ms=imported.created_ms,
        sources=imported.sources,
        tokens=imported.tokens,
        agents=imported.agents,
        narrow={str(high): ranges for high, ranges in imported.flags.narrow.items()},
    )
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", msgspec.json.encode(manifest))
        for name, table in (("flags", imported.flags), ("asn", imported.asn), ("country", imported.country)):
            if table is not None:
                _write_segments(archive, f"{name}.v4", table.v4)
                _write_segments(archive, f"{name}.v6", table.v6)
    return content.getvalue()


def read_set(path: Path) -> ImportedSet:
    """Read a set; IntelRefused when the file is damaged, too large or of another format."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, path)
    except IntelRefused:
        raise
    except Exception as damaged:
        # A damaged archive fails in as many ways as there are layers; all of them mean the same.
        what = f"{type(damaged).__name__}: {damaged}"[:200]
        raise IntelRefused(f"{path} cannot be read ({what}); run `agentgate intel update` again") from damaged


def _read(archive: zipfile.ZipFile, path: Path) -> ImportedSet:
    if sum(item.file_size for item in archive.infolist()) > MOST_BYTES:
        raise IntelRefused(f"{path} unpacks to more than {MOST_BYTES} bytes; import fewer lists")
    manifest = msgspec.json.decode(archive.read("manifest.json"), type=Manifest)
    if manifest.format != FORMAT:
        raise IntelRefused(f"{path} has format {manifest.format}, not {FORMAT}; run `agentgate intel update` again")
    flags = _read_table(archive, "flags", FLAG_BYTES)
    if flags is None:
        raise ValueError("the table of flags is missing")
    narrow = {int(high): ranges for high, ranges in manifest.narrow.items()}
    return ImportedSet(
        created_ms=manifest.created_ms,
        sources=manifest.sources,
        tokens=manifest.tokens,
        agents=manifest.agents,
        flags=AddressTable(v4=flags.v4, v6=flags.v6, narrow=narrow),
        asn=_read_table(archive, "asn"),
        country=_read_table(archive, "country"),
    )


def _read_table(archive: zipfile.ZipFile, name: str, values: str = FOUR_BYTES) -> AddressTable | None:
    if f"{name}.v4.starts" not in archive.namelist():
        return None
    v4 = _read_segments(archive, f"{name}.v4", FOUR_BYTES, values)
    return AddressTable(v4=v4, v6=_read_segments(archive, f"{name}.v6", EIGHT_BYTES, values))


def _write_segments(archive: zipfile.ZipFile, name: str, segments: AddressSegments) -> None:
    archive.writestr(f"{name}.starts", _little_endian(segments.starts).tobytes())
    archive.writestr(f"{name}.values", _little_endian(segments.values).tobytes())


def _read_segments(archive: zipfile.ZipFile, name: str, width: str, values_width: str) -> AddressSegments:
    starts, values = array(width), array(values_width)
    starts.frombytes(archive.read(f"{name}.starts"))
    values.frombytes(archive.read(f"{name}.values"))
    segments = AddressSegments(starts=_little_endian(starts), values=_little_endian(values))
    if not check_segments(segments):
        raise ValueError(f"the table {name} is not in order")
    return segments


def _little_endian(numbers: "array[Any]") -> "array[Any]":
    """Turn the numbers round on a machine that writes them the other way."""
    if sys.byteorder == "little":
        return numbers
    turned = array(numbers.typecode, numbers)
    turned.byteswap()
    return turned
