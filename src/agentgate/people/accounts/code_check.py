"""Asking for a two-factor code: attempts are counted before the code is looked at, so that none comes free."""

from agentgate.http.call import Call
from agentgate.lib.errors import Refused
from agentgate.lib.records import given
from agentgate.people.accounts.repositories import AccountStores
from agentgate.people.accounts.sign_in_records import CodeInput
from agentgate.people.identity.mfa import SecondFactor
from agentgate.people.identity.sign_in_limits import Factor, SignInAttempt, SignInLimits
from agentgate.people.identity.user_records import StoredUser


class CodeCheck:
    """Spends codes and recovery codes, within the limits on guessing."""

    def __init__(self, second_factor: SecondFactor, sign_in_limits: SignInLimits) -> None:
        self._second_factor = second_factor
        self._limits = sign_in_limits

    def attempt(self, call: Call, email: str) -> SignInAttempt:
        """Return who tries, by what is known of their device."""
        return self._limits.attempt(call, email)

    async def count_attempt(self, attempt: SignInAttempt, body: CodeInput) -> None:
        """Count an attempt; refuse it when there were too many. Call it before the unit of work that spends."""
        code, _ = one_of(body)
        await self._limits.count_code(attempt, is_recovery=code is None)

    async def spend(self, stores: AccountStores, call: Call, user: StoredUser, body: CodeInput) -> None:
        """Use the code or recovery code up, within a unit of work; refuse a wrong one."""
        code, recovery_code = one_of(body)
        await self._second_factor.spend(stores, call, user, code=code, recovery_code=recovery_code)

    async def note_failure(self, attempt: SignInAttempt) -> None:
        """Count a wrong code against its source, device or session."""
        await self._limits.note_failure(attempt, factor=Factor.CODE)

    async def forget(self, attempt: SignInAttempt) -> None:
        """Start the counts of the user anew, once a code was right."""
        await self._limits.forget(attempt)


def one_of(body: CodeInput) -> tuple[str | None, str | None]:
    """Return code and recovery code, of which one is there; refuse both and neither."""
    sent = given(body)
    code, recovery_code = sent.get("code"), sent.get("recovery_code")
    if (code is None) == (recovery_code is None):
        raise Refused("invalid_request", "Send exactly one of code and recoveryCode.")
    return code, recovery_code
