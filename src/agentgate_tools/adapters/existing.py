"""A proxy's files that exist already: whether they are for a given site, and the secret that they contain."""

import difflib
import re
from pathlib import Path

from msgspec import structs

from agentgate_tools.adapters.render import (
    FILES,
    PLACEHOLDER_SECRET,
    UNAVAILABLE,
    Installation,
    certificate_of,
    render,
)

# If more lines differ, the rest adds no information.
MOST_LINES = 40
_SECRET = re.compile(r"ags_[A-Za-z0-9_-]+")
_COMMENT = ("#", "--")


class OtherFiles(Exception):  # noqa: N818 - says what was found
    """The files of a folder are for something else. The message shows the difference, without secrets."""


def secret_in(proxy: str, installation: Installation, folder: Path) -> str | None:
    """Return the secret of the files in a folder; None if there are no files. Files for something else are an error.

    Lines that name the site, its origin, the service, the upstream or the given address must be present. Other lines
    may be edited.
    """
    texts = {name: (folder / name).read_text("utf-8") for name in FILES[proxy] if (folder / name).exists()}
    if not texts:
        return None
    secrets = {found for text in texts.values() for found in _SECRET.findall(text)} - {PLACEHOLDER_SECRET}
    secret = secrets.pop() if len(secrets) == 1 else PLACEHOLDER_SECRET
    wanted = structs.replace(installation, secret=secret)
    different = [name for name in texts if not _is_for(proxy, wanted, name, texts[name])]
    if secret == PLACEHOLDER_SECRET or different:
        name = next(iter(different or texts))
        raise OtherFiles(f"{folder / name}: " + (_difference(proxy, wanted, name, texts[name]) or "it has no secret"))
    return secret


def _is_for(proxy: str, installation: Installation, name: str, text: str) -> bool:
    """Return whether a file has each line that depends on what it is for."""
    own = {line.strip() for line in text.splitlines()}
    other = structs.replace(
        installation,
        site=f"{installation.site}-other",
        origin=_elsewhere(installation.origin),
        service=_elsewhere(installation.service),
        upstream=_elsewhere(installation.upstream),
        listen=installation.listen and "127.9.9.9:9",
        # It may have been found only after the files were written.
        certificate=certificate_of(proxy, installation),
    )
    texts = [render(proxy, structs.replace(installation, mode=mode), name).splitlines() for mode in UNAVAILABLE]
    for *lines, elsewhere in zip(*texts, render(proxy, other, name).splitlines(), strict=True):
        is_said = lines[0].strip().startswith(_COMMENT)
        if elsewhere not in lines and not is_said and not own & {line.strip() for line in lines}:
            return False
    return True


def _elsewhere(url: str) -> str:
    scheme, _, rest = url.partition("://")
    port = re.search(r":\d+\Z", rest)
    return f"{scheme}://other.invalid{port[0] if port else ''}"


def _difference(proxy: str, installation: Installation, name: str, text: str) -> str:
    wanted = [render(proxy, structs.replace(installation, mode=mode), name).splitlines() for mode in UNAVAILABLE]
    found = text.splitlines()
    diffs = [
        list(difflib.unified_diff(found, each, "found", "needed", n=0, lineterm=""))[:MOST_LINES] for each in wanted
    ]
    return "\n" + "\n".join(_SECRET.sub("ags_...", line) for line in min(diffs, key=len)) if any(diffs) else ""
