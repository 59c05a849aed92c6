"""Asking for a two-factor code: attempts are counted before the code is looked at, so that none comes free."""

from agentgate.http.call import Call
from agentgate.lib import limits
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.errors import Refused
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.records import given
from agentgate.people.accounts.ports import AccountStores
from agentgate.people.accounts.sign_in_records import CodeInput
from agentgate.people.identity.mfa import SecondFactor
from agentgate.people.identity.sign_in_limits import Factor, SignInLimits, email_subject
from agentgate.people.identity.user_records import StoredUser

# A code has a million values. Only counting attempts, not failures, holds against guesses that are sent all at once.
ATTEMPTS = Window("code-attempts", limits.LOGIN_FAILURES_PER_SOURCE, limits.LOGIN_WINDOW_MINUTES * MINUTE_MS)


class CodeCheck:
    """Spends codes and recovery codes, within the limits on guessing."""

    def __init__(self, second_factor: SecondFactor, sign_in_limits: SignInLimits, limiter: Limiter) -> None:
        self._second_factor = second_factor
        self._limits = sign_in_limits
        self._limiter = limiter

    async def count_attempt(self, call: Call, email: str) -> None:
        """Count an attempt; refuse it when there were too many. Call it before the unit of work that spends."""
        await self._limits.check(call, email, factor=Factor.CODE)
        await self._limiter.require(
            ATTEMPTS, email_subject(email), "Too many codes; try again after the time in Retry-After."
        )

    async def spend(self, stores: AccountStores, call: Call, user: StoredUser, body: CodeInput) -> None:
        """Use the code or recovery code up, within a unit of work; refuse a wrong one."""
        code, recovery_code = one_of(body)
        await self._second_factor.spend(stores, call, user, code=code, recovery_code=recovery_code)

    async def note_failure(self, call: Call, email: str) -> None:
        """Count a wrong code against its source."""
        await self._limits.note_failure(call, email, factor=Factor.CODE)

    async def forget(self, call: Call, email: str) -> None:
        """Start the counts of the user anew, once a code was right."""
        await self._limits.forget(call, email)
        await self._limiter.forget(ATTEMPTS, email_subject(email))


def one_of(body: CodeInput) -> tuple[str | None, str | None]:
    """Return code and recovery code, of which one is there; refuse both and neither."""
    sent = given(body)
    code, recovery_code = sent.get("code"), sent.get("recovery_code")
    if (code is None) == (recovery_code is None):
        raise Refused("invalid_request", "Send exactly one of code and recoveryCode.")
    return code, recovery_code
