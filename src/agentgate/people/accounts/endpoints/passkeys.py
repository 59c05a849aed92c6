"""Passkeys of the signed-in user: challenged, added, removed. The list is a part of `GET /v1/account/mfa`."""

import secrets

from agentgate.lib import base64url, limits
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_passkey_id
from agentgate.lib.moment import Moment
from agentgate.lib.names import check_name
from agentgate.lib.records import to_wire
from agentgate.people.accounts.guards import SessionCall, UserCall
from agentgate.people.accounts.mfa_records import NewPasskey, Passkey, PasskeyChallenge, PasswordInput
from agentgate.people.accounts.proofs import SignInProofs
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.accounts.signing_in import lock_user, record_of_user
from agentgate.people.audit.actions import Action
from agentgate.people.identity import passkeys
from agentgate.people.identity.mfa import SecondFactor
from agentgate.people.identity.records import PasskeyInput, StoredPasskey, StoredUser
from agentgate.people.outbox.messages import Messenger, passkey_message


async def begin_passkey(call: SessionCall, store: Store[AccountStores]) -> PasskeyChallenge:
    """Create the challenge that a passkey signs next, to be added or to sign in. It works once, within 5 minutes."""
    challenge = secrets.token_bytes(passkeys.CHALLENGE_BYTES)
    session = call.session
    await store.change(lambda stores: stores.user_sessions.save_challenge(session.secret_digest, challenge, call.now))
    found = await store.read.users.list_passkeys(session.user_id)
    return PasskeyChallenge(
        challenge=base64url.encode(challenge), credential_ids=[base64url.encode(each.credential_id) for each in found]
    )


async def add_passkey(
    call: UserCall,
    body: PasskeyInput,
    store: Store[AccountStores],
    *,
    proofs: SignInProofs,
    second_factor: SecondFactor,
    messenger: Messenger,
) -> NewPasskey:
    """Add a passkey, with the password. The first second factor turns two-factor authentication on."""
    name = check_name(body.name)
    await _check_password(call, proofs, body.password)
    await proofs.take_challenge(store, call, call.session, body.client_data, passkeys.CREATE)
    credential = passkeys.read_registration(body, call.request.header("host") or "")

    async def work(stores: AccountStores) -> NewPasskey:
        current = await _lock(stores, call)
        if len(await stores.users.list_passkeys(current.id)) >= limits.PASSKEYS_PER_USER:
            raise Refused("invalid_state", f"You have {limits.PASSKEYS_PER_USER} passkeys. Remove one first.")
        passkey = StoredPasskey(
            id=new_passkey_id(), user_id=current.id, name=name, created_ms=call.now, **credential._asdict()
        )
        if not await stores.users.add_passkey(passkey):
            raise Refused("invalid_state", "This passkey is registered already.")
        made = {} if current.has_mfa else {"recovery_codes": await second_factor.new_recovery_codes(stores, current)}
        await _announce(stores, call, messenger, passkey, added=True)
        return NewPasskey(passkey=show(passkey), **made)

    return await store.change(work)


async def remove_passkey(
    call: UserCall, body: PasswordInput, store: Store[AccountStores], proofs: SignInProofs, messenger: Messenger
) -> None:
    """Remove a passkey, with the password. The only second factor is removed by `/v1/account/mfa/disable`."""
    await _check_password(call, proofs, body.password)

    async def work(stores: AccountStores) -> None:
        current = await _lock(stores, call)
        found = await stores.users.list_passkeys(current.id)
        passkey = next((each for each in found if each.id == call.params["id"]), None)
        if passkey is None:
            raise Refused("not_found", "You have no passkey with this ID.")
        if len(found) == 1 and not current.has_authenticator:
            raise Refused("invalid_state", "This is your only second factor. Turn off two-factor authentication.")
        await stores.users.delete_passkey(passkey.id)
        await _announce(stores, call, messenger, passkey, added=False)

    await store.change(work)


def show(passkey: StoredPasskey) -> Passkey:
    """Return a passkey as its user sees it."""
    used = {} if passkey.last_used_ms is None else {"last_used_at": Moment(passkey.last_used_ms)}
    return to_wire(passkey, Passkey, created_at=Moment(passkey.created_ms), **used)


async def _check_password(call: UserCall, proofs: SignInProofs, password: str) -> None:
    attempt = proofs.limits.attempt(call, call.user.email, session=call.session)
    if not await proofs.is_password(attempt, call.user.password_hash, password):
        raise Refused("invalid_password")
    await proofs.limits.forget(attempt)


async def _lock(stores: AccountStores, call: UserCall) -> StoredUser:
    current = await lock_user(stores, call.user.id)
    if current.password_hash != call.user.password_hash:
        # Changed while we were looking: what was typed is an old password by now.
        raise Refused("invalid_password")
    return current


async def _announce(
    stores: AccountStores, call: UserCall, messenger: Messenger, passkey: StoredPasskey, *, added: bool
) -> None:
    action = Action.USER_PASSKEY_ADD if added else Action.USER_PASSKEY_REMOVE
    account_id, detail = call.session.account_id, {"name": passkey.name}
    await record_of_user(stores, call, action, call.user, account_id=account_id, detail=detail)
    await messenger.send(stores, call.now, passkey_message(call.user.email, added=added))
