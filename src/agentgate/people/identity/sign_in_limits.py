"""How often a sign-in may fail: per address, per e-mail and over all. Passwords and codes are counted apart."""

from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from agentgate.http.address import source_of
from agentgate.http.call import Call
from agentgate.lib import limits
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.secrets import digest
from agentgate.people.identity.users import canonical_email

WINDOW_MS = limits.LOGIN_WINDOW_MINUTES * MINUTE_MS


class Factor(StrEnum):
    """What a person proves who they are with."""

    PASSWORD = "password"  # noqa: S105 - a factor, not a secret
    CODE = "code"


class Windows(Struct, frozen=True):
    """The three windows of one factor."""

    per_address: Window
    per_email: Window
    over_all: Window


def _windows(factor: Factor) -> Windows:
    return Windows(
        per_address=Window(f"sign-in-{factor}-address", limits.LOGIN_FAILURES_PER_ADDRESS, WINDOW_MS),
        per_email=Window(f"sign-in-{factor}-email", limits.LOGIN_FAILURES_PER_SOURCE, WINDOW_MS),
        over_all=Window(f"sign-in-{factor}-all", limits.LOGINS_PER_MINUTE, MINUTE_MS),
    )


WINDOWS = MappingProxyType({factor: _windows(factor) for factor in Factor})


class SignInLimits:
    """Counts failures in windows that all workers share, by source and by canonical address: spellings do not help."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    async def check(self, call: Call, email: str, *, factor: Factor = Factor.PASSWORD) -> None:
        """Refuse when too many have failed. Known and unknown addresses count alike.

        Call it before the proof is looked at and, since guesses sent at once would all pass, again when it was right.
        """
        for window, subject in _subjects(call, email, factor):
            if await self._limiter.is_over(window, subject):
                raise self._limiter.refusal(
                    window, "Too many failed sign-ins; try again after the time in Retry-After."
                )

    async def note_failure(self, call: Call, email: str, *, factor: Factor = Factor.PASSWORD) -> None:
        """Count a failure."""
        for window, subject in _subjects(call, email, factor):
            await self._limiter.count(window, subject)

    async def forget(self, call: Call, email: str) -> None:  # noqa: ARG002 - like the others
        """Start an e-mail's counts anew, once somebody has signed in with all that it takes.

        The source's count stays: an account of one's own must not buy more guesses at those of others.
        """
        for windows in WINDOWS.values():
            await self._limiter.forget(windows.per_email, email_subject(email))


def _subjects(call: Call, email: str, factor: Factor) -> tuple[tuple[Window, str], ...]:
    windows = WINDOWS[factor]
    return (
        (windows.per_address, source_of(call.request.address)),
        (windows.per_email, email_subject(email)),
        (windows.over_all, ""),
    )


def email_subject(email: str) -> str:
    """Return what an address is counted under."""
    # Hashed, because the counting store is no place for people's addresses.
    return digest(canonical_email(email)).hex()
