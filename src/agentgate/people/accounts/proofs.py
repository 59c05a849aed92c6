"""The two proofs of a sign-in, a password and a code: compared with the stored ones, within the limits on guessing."""

from agentgate.http.call import Call
from agentgate.lib.errors import Refused
from agentgate.lib.records import given
from agentgate.people.accounts.records import CodeInput
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.identity.mfa import SecondFactor
from agentgate.people.identity.passwords import Passwords
from agentgate.people.identity.records import StoredUser
from agentgate.people.identity.sign_in_limits import Factor, SignInAttempt, SignInLimits


class SignInProofs:
    """Checks passwords and uses codes up. `limits` identifies attempts and clears failures after a sign-in."""

    def __init__(self, passwords: Passwords, second_factor: SecondFactor, limits: SignInLimits) -> None:
        self._passwords = passwords
        self._second_factor = second_factor
        self.limits = limits

    async def is_password(
        self, attempt: SignInAttempt, password_hash: str | None, password: str, *, token: str | None = None
    ) -> bool:
        """Return whether the password is right; reject the attempt instead after too many wrong ones.

        A missing hash (None) costs as much time as a user's hash. A right password does not reset the count of wrong
        ones.
        """
        await self.limits.admit(attempt, token)
        right = await self._passwords.verify(password_hash, password, known=attempt.known is not None)
        # Many guesses may have been under way at once: those beyond the limit learn nothing either.
        await self.limits.check(attempt)
        if not right:
            await self.limits.note_failure(attempt)
        return right

    async def new_hash(self, password: str, *, email: str) -> str:
        """Return the hash of a new password; reject a weak password."""
        self._passwords.check_password(password, email=email)
        return await self._passwords.hash(password)

    async def rehash(self, password_hash: str, password: str) -> str | None:
        """Return a hash of the same, right password with today's parameters; None when it has them."""
        if not self._passwords.needs_rehash(password_hash):
            return None
        return await self._passwords.hash(password)

    async def count_code(self, attempt: SignInAttempt, body: CodeInput) -> None:
        """Count an attempt at a code; reject it after too many. Call this before the unit of work that uses it up.

        Attempts are counted before the code is checked, so that every guess counts.
        """
        code, _ = one_of(body)
        await self.limits.count_code(attempt, is_recovery=code is None)

    async def spend_code(self, stores: AccountStores, call: Call, user: StoredUser, body: CodeInput) -> None:
        """Use the code or recovery code up, within a unit of work; reject a wrong one."""
        code, recovery_code = one_of(body)
        await self._second_factor.spend(stores, call, user, code=code, recovery_code=recovery_code)

    async def note_wrong_code(self, attempt: SignInAttempt) -> None:
        """Count a wrong code against its source, device or session."""
        await self.limits.note_failure(attempt, factor=Factor.CODE)


def one_of(body: CodeInput) -> tuple[str | None, str | None]:
    """Return code and recovery code, one of which is None. Reject an input with both or neither."""
    sent = given(body)
    code, recovery_code = sent.get("code"), sent.get("recovery_code")
    if (code is None) == (recovery_code is None):
        raise Refused("invalid_request", "Send exactly one of code and recoveryCode.")
    return code, recovery_code
