"""Asking for a password, and taking a new one: guesses are counted, and every answer takes the same work."""

from agentgate.http.call import Call
from agentgate.people.identity.passwords import Passwords
from agentgate.people.identity.sign_in_limits import SignInAttempt, SignInLimits
from agentgate.people.identity.user_records import UserSession


class PasswordCheck:
    """Holds a typed password against a stored hash, within the limits on guessing."""

    def __init__(self, passwords: Passwords, sign_in_limits: SignInLimits) -> None:
        self._passwords = passwords
        self._limits = sign_in_limits

    def attempt(self, call: Call, email: str, *, session: UserSession | None = None) -> SignInAttempt:
        """Return who tries, by what is known of their device, or by the session that they have."""
        return self._limits.attempt(call, email, session=session)

    async def is_right(
        self, attempt: SignInAttempt, password_hash: str | None, password: str, *, token: str | None = None
    ) -> bool:
        """Say whether the password is right; refuse to say when there were too many wrong ones.

        Nobody's hash (None) costs as much as anybody's. What is right leaves the count of wrong ones as it is.
        """
        await self._limits.admit(attempt, token)
        right = await self._passwords.verify(password_hash, password, known=attempt.known is not None)
        # Many guesses may have been under way at once: those beyond the limit learn nothing either.
        await self._limits.check(attempt)
        if not right:
            await self._limits.note_failure(attempt)
        return right

    async def new_hash(self, password: str, *, email: str) -> str:
        """Return what is stored of a new password; refuse a weak one."""
        self._passwords.check_password(password, email=email)
        return await self._passwords.hash(password)

    async def rehash(self, password_hash: str, password: str) -> str | None:
        """Return a hash of the same, right password with today's parameters; None when it has them."""
        if not self._passwords.needs_rehash(password_hash):
            return None
        return await self._passwords.hash(password)

    async def forget(self, attempt: SignInAttempt) -> None:
        """Start the count of wrong ones anew, once somebody has signed in with all that it takes."""
        await self._limits.forget(attempt)
