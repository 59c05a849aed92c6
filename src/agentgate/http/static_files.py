"""Static files: read and compressed when first asked for, cached by clients."""

import gzip
import hashlib
from collections.abc import Iterator
from functools import cached_property
from importlib.resources.abc import Traversable

from msgspec import Struct

from agentgate.http.call import Call
from agentgate.http.cors import OPEN_TO_ALL
from agentgate.http.replies import Reply, Text
from agentgate.lib.errors import Refused

# Cache lifetime of a file whose name does not change with its content.
CACHED = "public, max-age=300"
# A smaller file fits into one packet anyway.
LEAST_COMPRESSED_BYTES = 512

# Not the media types of the machine, which Python would read from its files at every start.
MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "svg": "image/svg+xml; charset=utf-8",
}


class StaticFile(Struct, frozen=True):
    """One file, ready to be sent."""

    content: bytes
    compressed: bytes | None
    media_type: str
    etag: str


class StaticFiles:
    """The files of a folder, by their path as the address has it."""

    def __init__(self, folder: Traversable) -> None:
        self._folder = folder
        # One by one: compressing all of them takes 200 ms and would delay checks.
        self._read: dict[str, StaticFile] = {}

    @cached_property
    def _paths(self) -> frozenset[str]:
        return frozenset(_walk(self._folder, ""))

    def find(self, path: str) -> StaticFile | None:
        """Return the file of a path such as `/sdk/v1/worker.js`."""
        if path in self._paths and path not in self._read:
            content = self._folder.joinpath(path.removeprefix("/")).read_bytes()
            self._read[path] = made_file(content, MEDIA_TYPES[path.rpartition(".")[2]])
        return self._read.get(path)


async def read_file(call: Call, static: StaticFiles) -> Reply[Text | None]:
    """Read a file of the browser SDK."""
    return serve_found(call, static.find(call.request.path))


def serve_found(call: Call, found: StaticFile | None) -> Reply[Text | None]:
    """Serve a file to pages of every origin; raise `not_found` when there is none."""
    if found is None:
        raise Refused("not_found", "File not found.")
    return serve_file(call, found, OPEN_TO_ALL)


def serve_file(
    call: Call, found: StaticFile, more: tuple[tuple[str, str], ...] = (), *, cached: str = CACHED
) -> Reply[Text | None]:
    """Send a file, compressed if the client accepts that; 304 if the client has it already."""
    headers = (
        ("cache-control", cached),
        ("etag", found.etag),
        ("vary", "Accept-Encoding"),
        *more,
    )
    if found.etag in (call.request.header("if-none-match") or ""):
        return Reply(body=None, status=304, headers=headers)
    if found.compressed is not None and "gzip" in (call.request.header("accept-encoding") or ""):
        compressed = ("content-encoding", "gzip")
        return Reply(body=Text(found.compressed, found.media_type), headers=(*headers, compressed))
    return Reply(body=Text(found.content, found.media_type), headers=headers)


def _walk(folder: Traversable, prefix: str) -> Iterator[str]:
    for entry in folder.iterdir() if folder.is_dir() else ():
        path = f"{prefix}/{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, path)
        else:
            yield path


def made_file(content: bytes, media_type: str) -> StaticFile:
    """Return a file ready to be sent."""
    # No time in the header, so that every worker has the same bytes.
    worthwhile = len(content) >= LEAST_COMPRESSED_BYTES and media_type != "image/webp"
    compressed = gzip.compress(content, 9, mtime=0) if worthwhile else None
    return StaticFile(content, compressed, media_type, f'"{hashlib.sha256(content).hexdigest()[:24]}"')
