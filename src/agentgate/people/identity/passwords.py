"""Passwords: which are good enough, and their Argon2id hashes, made in threads and never too many at once."""

import asyncio
import base64
import functools
import string
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import TypeVar

from argon2 import PasswordHasher, Type
from argon2.exceptions import VerifyMismatchError

from agentgate.lib.errors import Refused
from agentgate.lib.limits import PASSWORD_CHARACTERS

T = TypeVar("T")

TIME_COST = 2
MEMORY_COST_KIB = 19 * 1024
PARALLELISM = 1
SALT_BYTES = 16
HASH_BYTES = 32

# One hash takes 19 MiB and a core for some 40 ms. More at once would only take the cores from the gateway.
AT_ONCE = 2
MOST_WAITING = 20
RETRY_AFTER_S = 1

# A composed letter may have up to four code points. Longer text is not even normalized, because that takes time.
MOST_CODE_POINTS = 4 * PASSWORD_CHARACTERS.most
# A shorter local part occurs in any text by chance.
LEAST_LOCAL_PART_CHARACTERS = 3
# A group this short is guessed at once, however often it is repeated.
SHORT_GROUP_CHARACTERS = 3
COMMON_PASSWORDS = "common_passwords.txt"
# Words that people would think of here, in addition to the bundled list.
OWN_WORDS = frozenset({"agentgate"})
_AROUND = string.digits + string.punctuation + " "
# Characters of numbers, such as telephone numbers and dates.
_NUMBER = string.digits + " +-./()"


class Passwords:
    """Judges, hashes and verifies passwords. Shared by all requests of a worker."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher(
            time_cost=TIME_COST,
            memory_cost=MEMORY_COST_KIB,
            parallelism=PARALLELISM,
            hash_len=HASH_BYTES,
            salt_len=SALT_BYTES,
            type=Type.ID,
        )
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="password")
        # Counts of callers who have proved something already, and of all others.
        self._accepted = {True: 0, False: 0}
        self._common = read_known_passwords() | OWN_WORDS

    def check_password(self, password: str, *, email: str) -> None:
        """Reject a password that is too short, too long or easy to guess."""
        why = weakness(password, email=email, common=self._common)
        if why is not None:
            raise Refused("weak_password", why)

    async def hash(self, password: str) -> str:
        """Return the hash of a password. Callers who set one have a session or a link."""
        return await self._work(lambda: self._hasher.hash(_bytes(password)), known=True)

    async def verify(self, password_hash: str | None, password: str, *, known: bool = False) -> bool:
        """Return whether the password is right. Without a hash it is not, after the same work.

        Known devices and live sessions have a separate queue, which a flood of others cannot fill.
        """
        matches = await self._work(lambda: self._matches(password_hash or DUMMY_HASH, password), known=known)
        return matches and password_hash is not None

    def needs_rehash(self, password_hash: str) -> bool:
        """Return whether a hash was made with other parameters than now: hash again after the next right password."""
        return self._hasher.check_needs_rehash(password_hash)

    def close(self) -> None:
        """Let go of the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _matches(self, password_hash: str, password: str) -> bool:
        try:
            return self._hasher.verify(password_hash, _bytes(password))
        except VerifyMismatchError:
            return False

    async def _work(self, act: Callable[[], T], *, known: bool) -> T:
        if self._accepted[known] >= AT_ONCE + MOST_WAITING:
            raise Refused(
                "rate_limited",
                "Too many concurrent sign-ins. Try again in a second.",
                headers={"retry-after": str(RETRY_AFTER_S)},
            )
        self._accepted[known] += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, act)
        finally:
            self._accepted[known] -= 1


def weakness(password: str, *, email: str, common: frozenset[str]) -> str | None:
    """Return what is wrong with a password and what would be right, or None."""
    length = len(_normalised(password)) if len(password) <= MOST_CODE_POINTS else len(password)
    if length < PASSWORD_CHARACTERS.least:
        return f"The password has {length} characters. Use at least {PASSWORD_CHARACTERS.least}."
    if length > PASSWORD_CHARACTERS.most:
        return f"The password has {length} characters. Use at most {PASSWORD_CHARACTERS.most}."
    if any(unicodedata.category(character) == "Cs" for character in password):
        return "The password is not valid Unicode. Use characters that can be typed."
    text = _normalised(password).casefold()
    if _is_guessable(text, common):
        return "The password is a number or a common word, repeated or with digits. Use several unrelated words."
    local_part = email.partition("@")[0].casefold()
    if len(local_part) >= LEAST_LOCAL_PART_CHARACTERS and local_part in text:
        return "The password contains the name in your email address. Use words unrelated to it."
    return None


@functools.cache
def read_known_passwords() -> frozenset[str]:
    """Read the bundled list: lower case, one on each line."""
    text = resources.files("agentgate.people.identity").joinpath(COMMON_PASSWORDS).read_text(encoding="utf-8")
    return frozenset(text.split("\n")) - {""}


def _is_guessable(text: str, common: frozenset[str]) -> bool:
    """Return whether the text is a number or a common word, maybe repeated, maybe with digits and signs around it."""
    core = text.strip(_AROUND)
    if not text.strip(_NUMBER) or text in common or core in common:
        return True
    # Signs alone leave no core.
    group = _repeated_group(text) or (_repeated_group(core) if core else None)
    return group is not None and (len(group) <= SHORT_GROUP_CHARACTERS or _is_guessable(group, common))


def _repeated_group(text: str) -> str | None:
    """Return the shortest text of which this one is two or more copies, or None."""
    # A text occurs inside its doubling, other than at the ends, only if it is made of copies.
    length = (text + text).find(text, 1)
    return text[:length] if length < len(text) else None


def _normalised(password: str) -> str:
    # The same letters must be the same password, whatever keyboard composes them.
    return unicodedata.normalize("NFC", password)


def _bytes(password: str) -> bytes:
    # Text that is too long for a password is wrong in any case. So is the empty text, which is normalized quickly.
    text = _normalised(password) if len(password) <= MOST_CODE_POINTS else ""
    return text.encode("utf-8", "surrogatepass")


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")


# A hash of nothing: verifying against it takes what verifying against a real one does.
DUMMY_HASH = (
    f"$argon2id$v=19$m={MEMORY_COST_KIB},t={TIME_COST},p={PARALLELISM}"
    f"${_encoded(bytes(SALT_BYTES))}${_encoded(bytes(HASH_BYTES))}"
)
