"""Where `agentgate intel update` gets its lists from: a folder, a file, or an address."""

import shutil
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from agentgate.protection.threat_data.intel_file import FILE_NAME, read_set
from agentgate.server.cli.options import CommandRefused

LISTS = "lists"
TIMEOUT_S = 60
MOST_BYTES = 256 * 1024 * 1024
LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})


def find_lists(source: str, folder: Path) -> Path:
    """Return the folder of lists to import; a single list is put beside those that came before."""
    is_url = "://" in source
    given = Path(source)
    if not is_url and given.is_dir():
        return given
    if not is_url and not given.is_file():
        raise CommandRefused(f"there is no folder, file or URL {source}; give one that holds lists")
    lists = folder / LISTS
    _check_kept(folder, lists)
    lists.mkdir(parents=True, exist_ok=True)
    if is_url:
        _download(source, lists)
    else:
        shutil.copyfile(given, lists / given.name)
    return lists


def _check_kept(folder: Path, lists: Path) -> None:
    """Refuse to lose lists: what is in force must have been made of the kept files."""
    if not (folder / FILE_NAME).exists():
        return
    kept = {path.name for path in lists.iterdir()} if lists.is_dir() else set()
    missing = sorted({line.file for line in read_set(folder / FILE_NAME).sources} - kept)
    if missing:
        raise CommandRefused(
            f"the set in force was made of {', '.join(missing)}, which are not kept in {lists}; "
            "copy them there, or give the whole folder"
        )


def _download(url: str, lists: Path) -> None:
    parts = urlsplit(url)
    name = parts.path.rpartition("/")[2]
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOCAL):
        raise CommandRefused(
            f"{url} is not an https address; lists decide about visitors, so they are fetched safely only"
        )
    if not name or name.startswith("."):
        raise CommandRefused(f"{url} names no file; its last part says what kind of list it is")
    try:
        with urlopen(url, timeout=TIMEOUT_S) as reply:  # noqa: S310 - the scheme was checked
            content = reply.read(MOST_BYTES + 1)
    except (HTTPException, URLError, OSError) as problem:
        raise CommandRefused(f"{url} could not be fetched: {problem}") from problem
    if len(content) > MOST_BYTES:
        raise CommandRefused(f"{url} has more than {MOST_BYTES} bytes; give a smaller list")
    unfinished = lists / f".{name}.unfinished"
    unfinished.write_bytes(content)
    unfinished.replace(lists / name)
