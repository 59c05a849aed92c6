"""Two-factor authentication, as the user sets it up for themselves."""

from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.people.accounts.code_check import CodeCheck, one_of
from agentgate.people.accounts.guards import UserCall
from agentgate.people.accounts.password_check import PasswordCheck
from agentgate.people.accounts.repositories import AccountStores
from agentgate.people.accounts.sign_in_records import MfaDisableInput, MfaEnableInput, MfaSetup, MfaState, RecoveryCodes
from agentgate.people.accounts.signing_in import lock_user, record_of_user
from agentgate.people.audit.actions import Action
from agentgate.people.identity.mfa import SecondFactor, is_pending


async def read_mfa(call: UserCall, store: Store[AccountStores]) -> MfaState:
    """Read whether two-factor authentication is on, being set up, and required by an account of the user."""
    user = call.user
    return MfaState(
        enabled=user.has_mfa,
        pending=is_pending(user, call.now),
        required_by_account=await _is_required(store.read, user.id),
        recovery_codes_left=await store.read.users.count_recovery_codes(user.id),
    )


async def set_up_mfa(call: UserCall, store: Store[AccountStores], second_factor: SecondFactor) -> MfaSetup:
    """Start the setup: a secret for the authenticator app, to be confirmed with a code."""
    secret, url = await store.change(lambda stores: second_factor.begin_setup(stores, call, call.user))
    return MfaSetup(secret=secret, otpauth_url=url)


async def enable_mfa(
    call: UserCall, body: MfaEnableInput, store: Store[AccountStores], second_factor: SecondFactor
) -> RecoveryCodes:
    """Turn two-factor authentication on with a code; the recovery codes are shown this once."""

    async def work(stores: AccountStores) -> list[str]:
        codes = await second_factor.enable(stores, call, call.user, body.code)
        await record_of_user(stores, call, Action.USER_MFA_ON, call.user, account_id=call.session.account_id)
        return codes

    return RecoveryCodes(recovery_codes=await store.change(work))


async def disable_mfa(
    call: UserCall,
    body: MfaDisableInput,
    store: Store[AccountStores],
    *,
    password_check: PasswordCheck,
    code_check: CodeCheck,
    second_factor: SecondFactor,
) -> None:
    """Turn two-factor authentication off with the password and a code or recovery code."""
    one_of(body)
    user = call.user
    await _check_may_disable(store.read, user.id, enabled=user.has_mfa)
    attempt = password_check.attempt(call, user.email, session=call.session)
    if not await password_check.is_right(attempt, user.password_hash, body.password):
        raise Refused("invalid_password")
    await code_check.count_attempt(attempt, body)

    async def work(stores: AccountStores) -> None:
        current = await lock_user(stores, user.id)
        await _check_may_disable(stores, user.id, enabled=current.has_mfa)
        await code_check.spend(stores, call, current, body)
        await second_factor.disable(stores, call, current)
        await record_of_user(stores, call, Action.USER_MFA_OFF, current, account_id=call.session.account_id)

    try:
        await store.change(work)
    except Refused as refused:
        if refused.code == "invalid_code":
            await code_check.note_failure(attempt)
        raise
    await code_check.forget(attempt)


async def _check_may_disable(stores: AccountStores, user_id: str, *, enabled: bool) -> None:
    if not enabled:
        raise Refused("mfa_not_enabled")
    if await _is_required(stores, user_id):
        raise Refused("mfa_required_by_account")


async def _is_required(stores: AccountStores, user_id: str) -> bool:
    return any(account.require_mfa for _, account in await stores.members.list_memberships(user_id))
