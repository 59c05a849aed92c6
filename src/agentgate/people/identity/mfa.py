"""Two-factor authentication: set up, turned on, used, turned off. Every method needs a unit of work.

No method counts attempts or leaves an audit entry. An error rolls its unit of work back: count attempts in an earlier
one.
"""

import secrets
from typing import NamedTuple

from agentgate.http.call import Call
from agentgate.lib import limits
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import Sealer
from agentgate.lib.secrets import digest
from agentgate.people.identity import passkeys, totp
from agentgate.people.identity.records import PasskeyAssertion, StoredUser
from agentgate.people.identity.repository import IdentityStores

PENDING_MS = 15 * MINUTE_MS

# Crockford's base32, which leaves out letters that look like digits. 16 of them carry 80 bits.
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
CODE_CHARACTERS = 16
GROUP_CHARACTERS = 4
# Letters that people may read instead of digits, and separators that they may type between groups.
_AS_MEANT = str.maketrans({"o": "0", "i": "1", "l": "1", "-": None, " ": None})


class RecoveryCode(NamedTuple):
    """A recovery code as typed."""

    text: str


# The second factor that a user sends; a plain text is the code of an authenticator app.
SecondProof = str | RecoveryCode | PasskeyAssertion


class SecondFactor:
    """Knows the sealed secrets of users' authenticators. Methods lock and read the user again: the copy may be old."""

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer

    async def begin_setup(self, stores: IdentityStores, call: Call, user: StoredUser) -> tuple[str, str]:
        """Create a secret, to be confirmed within 15 minutes; return it as text and as an `otpauth://` URL."""
        current = await _locked(stores, user.id)
        if current.has_authenticator:
            raise Refused("mfa_already_enabled")
        secret = secrets.token_bytes(totp.SECRET_BYTES)
        await stores.users.save_pending_mfa(user.id, self._sealer.seal(secret, sealing_context(user.id)), call.now)
        return totp.secret_text(secret), totp.otpauth_url(secret, current.email)

    async def enable(self, stores: IdentityStores, call: Call, user: StoredUser, code: str) -> list[str]:
        """Turn it on with a code of the new secret, which is used up by that; return the recovery codes."""
        current = await _locked(stores, user.id)
        if current.has_authenticator:
            raise Refused("mfa_already_enabled")
        if not is_pending(current, call.now) or current.mfa_pending_secret is None:
            raise Refused("mfa_not_pending")
        step = totp.matching_step(self._open(user.id, current.mfa_pending_secret), code, call.now)
        if step is None:
            raise Refused("invalid_code")
        if not await stores.users.enable_mfa(user.id, step=step, now_ms=call.now):
            raise Refused("mfa_not_pending")
        return await self.new_recovery_codes(stores, user)

    async def new_recovery_codes(self, stores: IdentityStores, user: StoredUser) -> list[str]:
        """Return new recovery codes; earlier ones stop working."""
        codes = [new_recovery_code() for _ in range(limits.RECOVERY_CODES)]
        await stores.users.replace_recovery_codes(user.id, [recovery_digest(made) for made in codes])
        return codes

    async def spend(self, stores: IdentityStores, call: Call, user: StoredUser, proof: SecondProof) -> None:
        """Use up a code, a recovery code or a passkey's signature; reject one that is wrong or used.

        The caller has used the challenge of the signature up, in an earlier unit of work.
        """
        current = await _locked(stores, user.id)
        if not current.has_mfa:
            raise Refused("invalid_code")
        match proof:
            case PasskeyAssertion():
                spent = await _use_passkey(stores, call, current, proof)
            case RecoveryCode(text):
                spent = await stores.users.spend_recovery_code(user.id, recovery_digest(text), call.now)
            case str():
                spent = current.mfa_secret is not None and await self._spend_code(stores, call, current, proof)
        if not spent:
            raise Refused("invalid_code")

    async def _spend_code(self, stores: IdentityStores, call: Call, user: StoredUser, code: str) -> bool:
        assert user.mfa_secret is not None
        step = totp.matching_step(self._open(user.id, user.mfa_secret), code, call.now)
        return step is not None and await stores.users.spend_step(user.id, step)

    async def disable(self, stores: IdentityStores, call: Call, user: StoredUser) -> None:  # noqa: ARG002 - like the others
        """Turn it off and delete secret, passkeys and recovery codes. The caller has checked the permission."""
        await stores.users.lock_user(user.id)
        if not await stores.users.disable_mfa(user.id):
            raise Refused("mfa_not_enabled")

    def _open(self, user_id: str, sealed: bytes) -> bytes:
        return self._sealer.open(sealed, sealing_context(user_id))


def is_pending(user: StoredUser, now_ms: int) -> bool:
    """Return whether a setup has begun and can still be finished."""
    return not user.has_authenticator and user.mfa_pending_ms is not None and now_ms - user.mfa_pending_ms < PENDING_MS


def new_recovery_code() -> str:
    """Return a new recovery code, in groups that can be read aloud."""
    text = "".join(secrets.choice(ALPHABET) for _ in range(CODE_CHARACTERS))
    return "-".join(text[start : start + GROUP_CHARACTERS] for start in range(0, CODE_CHARACTERS, GROUP_CHARACTERS))


def recovery_digest(code: str) -> bytes:
    """Return what is stored of a recovery code, however its letters and dashes were typed. 80 bits need no more."""
    return digest(code.lower().translate(_AS_MEANT))


async def _use_passkey(stores: IdentityStores, call: Call, user: StoredUser, assertion: PasskeyAssertion) -> bool:
    credential_id = passkeys.decode(assertion.credential_id)
    found = await stores.users.list_passkeys(user.id)
    passkey = next((each for each in found if each.credential_id == credential_id), None)
    if passkey is None:
        return False
    sign_count = passkeys.verify(assertion, passkey)
    await stores.users.note_passkey_use(passkey.id, sign_count, call.now)
    return True


async def _locked(stores: IdentityStores, user_id: str) -> StoredUser:
    await stores.users.lock_user(user_id)
    user = await stores.users.find_user(user_id)
    if user is None:
        raise Refused("session_expired")
    return user


def sealing_context(user_id: str) -> str:
    """Return what a user's secret is sealed with besides, so that no other sealed text passes for it."""
    return f"mfa:{user_id}"
