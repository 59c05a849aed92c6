"""Limits on failed sign-ins, which prevent both long guessing and locking another user out.

Every address has its own count, and so has every known device and every live session. Failures of many addresses
together only limit unknown devices: these must pass the browser check or wait a minute. Decision 0030 explains why.
"""

from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from agentgate.http.address import source_of
from agentgate.http.call import Call
from agentgate.lib import limits
from agentgate.lib.clock import MINUTE_MS, SECOND_MS
from agentgate.lib.errors import Refused
from agentgate.lib.limiter import Limiter, Window
from agentgate.people.identity.browser_check import SIGN_IN, BrowserCheck
from agentgate.people.identity.known_devices import KnownDevices, email_subject
from agentgate.people.identity.records import UserSession

WINDOW_MS = limits.LOGIN_WINDOW_MINUTES * MINUTE_MS
WAIT_MS = limits.LOGIN_WAIT_SECONDS * SECOND_MS
TOO_MANY = "Too many failed sign-ins. Try again after the time in Retry-After."
UNDER_ATTACK = (
    "Many sign-ins are failing at the moment. Try again after the time in Retry-After, from the same IP address. A"
    " browser that has signed in before can try immediately."
)


class Factor(StrEnum):
    """The means by which a user proves their identity."""

    PASSWORD = "password"  # noqa: S105 - a factor, not a secret
    CODE = "code"


class Windows(Struct, frozen=True):
    """The windows of one factor. An attempt beyond one of them is rejected."""

    per_address: Window
    per_email_and_address: Window
    per_known: Window


def _windows(factor: Factor) -> Windows:
    few, many = limits.LOGIN_FAILURES_PER_SOURCE, limits.LOGIN_FAILURES_PER_ADDRESS
    return Windows(
        per_address=Window(f"sign-in-{factor}-address", many, WINDOW_MS),
        per_email_and_address=Window(f"sign-in-{factor}-email-address", few, WINDOW_MS),
        per_known=Window(f"sign-in-{factor}-known", few, WINDOW_MS),
    )


WINDOWS = MappingProxyType({factor: _windows(factor) for factor in Factor})
# These two tell an attack on passwords, which unknown devices have to wait for.
PER_EMAIL = Window("sign-in-email", limits.LOGIN_FAILURES_PER_EMAIL, WINDOW_MS)
OVER_ALL = Window("sign-in-all", limits.LOGIN_FAILURES_PER_MINUTE, MINUTE_MS)
# A code has a million values. Only counting attempts, not failures, holds against guesses that are sent all at once.
CODES_PER_EMAIL_AND_ADDRESS = Window("code-attempts-address", limits.LOGIN_FAILURES_PER_SOURCE, WINDOW_MS)
CODES_PER_KNOWN = Window("code-attempts-known", limits.LOGIN_FAILURES_PER_SOURCE, WINDOW_MS)
# All unknown devices together. Waiting for a minute each, many addresses would still try them all within days.
CODES_PER_EMAIL = Window("code-attempts-email", limits.CODE_ATTEMPTS_PER_EMAIL, WINDOW_MS)


class SignInAttempt(Struct, frozen=True, kw_only=True):
    """The source of an attempt, as counted: the IP address, the email, and the known device or session."""

    call: Call
    source: str
    email: str
    # None for an unknown device.
    known: str | None

    @property
    def from_source(self) -> str:
        """Return the subject under which the email's attempts from this address are counted."""
        return f"{self.source} {self.email}"


class SignInLimits:
    """Counts failures in windows that all workers share, by source and by canonical address: spellings do not help."""

    def __init__(self, limiter: Limiter, devices: KnownDevices, browser_check: BrowserCheck) -> None:
        self._limiter = limiter
        self._devices = devices
        self._browser_check = browser_check

    def attempt(self, call: Call, email: str, *, session: UserSession | None = None) -> SignInAttempt:
        """Return who tries. A live session is known by its user and sign-in: changing accounts makes it no other."""
        known: str | None = None
        if session is not None:
            known = f"session {session.user_id} {session.created_ms}"
        else:
            device = self._devices.find(call, email)
            known = None if device is None else f"device {device.id}"
        return SignInAttempt(call=call, source=source_of(call.request.address), email=email_subject(email), known=known)

    async def admit(self, attempt: SignInAttempt, token: str | None) -> None:
        """Allow an attempt at a password, or reject it before the password is checked.

        Known and unknown email addresses count alike. A browser-check token exempts from the wait during an attack.
        """
        await self.check(attempt)
        if attempt.known is not None:
            return
        if await self._limiter.is_over(PER_EMAIL, attempt.email) or await self._limiter.is_over(OVER_ALL, ""):
            await self.pass_or_wait(attempt, token, purpose="sign-in")

    async def check(self, attempt: SignInAttempt, *, factor: Factor = Factor.PASSWORD) -> None:
        """Reject an attempt after too many failures with this session, on this device, or from this address.

        Concurrent guesses all pass the first time; call it again after the proof was checked.
        """
        for window, subject in _own_windows(attempt, factor):
            if await self._limiter.is_over(window, subject):
                raise self._limiter.refusal(window, TOO_MANY)

    async def note_failure(self, attempt: SignInAttempt, *, factor: Factor = Factor.PASSWORD) -> None:
        """Count a failure. Failures of known devices and sessions do not indicate an attack."""
        for window, subject in _own_windows(attempt, factor):
            await self._limiter.count(window, subject)
        if attempt.known is None and factor is Factor.PASSWORD:
            await self._limiter.count(PER_EMAIL, attempt.email)
            await self._limiter.count(OVER_ALL, "")

    async def count_code(self, attempt: SignInAttempt, *, is_recovery: bool) -> None:
        """Count an attempt at a code before it is checked; reject it after too many attempts."""
        await self.check(attempt, factor=Factor.CODE)
        if attempt.known is not None:
            await self._limiter.require(CODES_PER_KNOWN, attempt.known, TOO_MANY)
            return
        await self._limiter.require(CODES_PER_EMAIL_AND_ADDRESS, attempt.from_source, TOO_MANY)
        # The 80 bits of a recovery code cannot be guessed, so other people's attempts do not limit it.
        if not is_recovery:
            await self._limiter.require(
                CODES_PER_EMAIL,
                attempt.email,
                "Too many codes were tried. Try again after the time in Retry-After, use a recovery code, or set a new"
                " password with a reset link, which makes this browser a known device.",
            )

    async def forget(self, attempt: SignInAttempt) -> None:
        """Reset the email's counts for this address and device after a complete sign-in.

        The source's count remains: a sign-in to one's own account must not allow more guesses at others. The counts
        over all addresses remain too: a sign-in of the owner does not end an attack.
        """
        for factor in Factor:
            window, subject = _own_windows(attempt, factor)[-1]
            await self._limiter.forget(window, subject)
        await self._limiter.forget(CODES_PER_EMAIL_AND_ADDRESS, attempt.from_source)
        if attempt.known is not None:
            await self._limiter.forget(CODES_PER_KNOWN, attempt.known)

    async def pass_or_wait(self, attempt: SignInAttempt, token: str | None, *, purpose: str) -> None:
        """Allow an unknown device that has passed the browser check, or has waited since its first rejection."""
        site_key = self._browser_check.site_key
        if (
            site_key is not None
            and token is not None
            and await self._browser_check.passes(token, attempt.call, action=SIGN_IN)
        ):
            return
        # The wait is per address and email, and one attempt uses it up, which limits the guesses of each address.
        left_ms = await self._limiter.wait(f"{purpose} {attempt.from_source}", wait_ms=WAIT_MS, kept_ms=WINDOW_MS)
        if not left_ms:
            return
        extra = {} if site_key is None else {"browserCheck": {"siteKey": site_key, "action": SIGN_IN}}
        retry_after = str(-(-left_ms // SECOND_MS))
        raise Refused("rate_limited", UNDER_ATTACK, headers={"retry-after": retry_after}, **extra)


def _own_windows(attempt: SignInAttempt, factor: Factor) -> tuple[tuple[Window, str], ...]:
    windows = WINDOWS[factor]
    if attempt.known is not None:
        return ((windows.per_known, attempt.known),)
    return (
        (windows.per_address, attempt.source),
        (windows.per_email_and_address, attempt.from_source),
    )
