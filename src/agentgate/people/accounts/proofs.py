"""The proofs of a sign-in, a password and a second factor: compared with the stored ones, with limited guesses."""

from msgspec import UNSET

from agentgate.http.call import Call
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.people.accounts.records import CodeInput
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.identity import passkeys
from agentgate.people.identity.mfa import RecoveryCode, SecondFactor, SecondProof
from agentgate.people.identity.passwords import Passwords
from agentgate.people.identity.records import PasskeyAssertion, StoredUser, UserSession
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
        await self.limits.count_code(attempt, is_recovery=isinstance(one_of(body), RecoveryCode))

    async def take_challenge(
        self, store: Store[AccountStores], call: Call, session: UserSession, client_data: str, kind: str
    ) -> None:
        """Use up the session's challenge if a passkey signed it; reject another one.

        This is a separate unit of work: what is signed wrongly must not be tried again with the same challenge.
        """
        challenge, since_ms = passkeys.challenge_in(client_data, kind), call.now - passkeys.CHALLENGE_MS
        if not await store.change(
            lambda stores: stores.user_sessions.spend_challenge(session.secret_digest, challenge, since_ms)
        ):
            raise passkeys.refused()

    async def take_signed_challenge(
        self, store: Store[AccountStores], call: Call, session: UserSession, body: CodeInput
    ) -> None:
        """Use up the challenge of a passkey's signature; other proofs have none."""
        proof = one_of(body)
        if isinstance(proof, PasskeyAssertion):
            await self.take_challenge(store, call, session, proof.client_data, passkeys.GET)

    async def spend_code(self, stores: AccountStores, call: Call, user: StoredUser, body: CodeInput) -> None:
        """Use the proof up, within a unit of work; reject a wrong one."""
        await self._second_factor.spend(stores, call, user, one_of(body))

    async def note_wrong_code(self, attempt: SignInAttempt) -> None:
        """Count a wrong code against its source, device or session."""
        await self.limits.note_failure(attempt, factor=Factor.CODE)


def one_of(body: CodeInput) -> SecondProof:
    """Return the proof. Reject an input with several or none."""
    proofs: list[SecondProof] = []
    if body.code is not UNSET:
        proofs.append(body.code)
    if body.recovery_code is not UNSET:
        proofs.append(RecoveryCode(body.recovery_code))
    if body.passkey is not UNSET:
        proofs.append(body.passkey)
    if len(proofs) != 1:
        raise Refused("invalid_request", "Send exactly one of code, recoveryCode and passkey.")
    return proofs[0]


def method_of(proof: SecondProof) -> str:
    """Return the name of the proof in the audit trail."""
    if isinstance(proof, PasskeyAssertion):
        return "passkey"
    return "recovery_code" if isinstance(proof, RecoveryCode) else "code"
