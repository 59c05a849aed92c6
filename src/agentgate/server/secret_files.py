"""The root secret and the operator credential: made by the first start, each in a file that only its owner can read."""

import contextlib
import os
import re
import secrets
from pathlib import Path

from agentgate.lib.limits import OPERATOR_KEY_LEAST_CHARACTERS
from agentgate.lib.secrets import new_secret
from agentgate.lib.settings.schema import Settings
from agentgate.server.stores.files import sync

ROOT_SECRET_BYTES = 32
# Characters that a header can hold. A file of zeros, which a crash can leave, must not become a key that is easy to
# guess.
_VISIBLE = re.compile(r"[!-~]+\Z", re.ASCII)


class SecretFileRefused(Exception):  # noqa: N818 - says what happened
    """A secret's file is there but cannot be used."""


def admin_key(settings: Settings) -> str:
    """Return the operator credential: the setting, or what the first start made."""
    if settings.admin_key:
        return settings.admin_key
    key = _read_or_make(settings.admin_key_path, new_secret("agk_"))
    if len(key) < OPERATOR_KEY_LEAST_CHARACTERS or not _VISIBLE.match(key):
        raise SecretFileRefused(
            f"{settings.admin_key_path} does not hold {OPERATOR_KEY_LEAST_CHARACTERS} or more visible ASCII characters;"
            " delete it to generate a new one, or set AGENTGATE_ADMIN_KEY"
        )
    return key


def root_secret(settings: Settings) -> bytes:
    """Return the root secret: the setting, or what the first start made."""
    if settings.root_secret:
        return settings.root_secret
    if not settings.root_secret_path.exists() and (settings.data_dir / "config.db").exists():
        raise SecretFileRefused(
            f"{settings.root_secret_path} is missing, but the databases next to it were created with one;"
            " restore the file from a backup"
        )
    text = _read_or_make(settings.root_secret_path, secrets.token_hex(ROOT_SECRET_BYTES))
    try:
        secret = bytes.fromhex(text)
    except ValueError:
        secret = b""
    if len(secret) < ROOT_SECRET_BYTES:
        # A new secret would lock the service out of the keys that it sealed, so this is never repaired silently.
        raise SecretFileRefused(
            f"{settings.root_secret_path} does not hold {ROOT_SECRET_BYTES} bytes in hex;"
            " restore the file from a backup"
        )
    return secret


def replace_root_secret(settings: Settings, new: str) -> None:
    """Replace the root secret that the first start generated, once everything is sealed with the new one."""
    replace_secret_file(settings.root_secret_path, new)


def replace_secret_file(path: Path, new: str) -> None:
    """Replace a file that only its owner can read, or create it."""
    beside = path.with_name(f"{path.name}.replacing")
    beside.unlink(missing_ok=True)
    _make(beside, new)
    beside.replace(path)
    # A name is durable once its folder is.
    sync(path.parent)


def _read_or_make(path: Path, new: str) -> str:
    try:
        if not path.exists():
            _make(path, new)
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SecretFileRefused(f"{path} cannot be read or created: {error}") from None


def _make(path: Path, new: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Written to a temporary file in the same folder and linked to its name: of several workers that start together one
    # wins, and none reads half a file.
    beside = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(new + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink()
    sync(path.parent)
