"""The life of an account: so far, its beginning."""

from agentgate.accounts.ports import AccountStores
from agentgate.accounts.records import Limits, StoredAccount
from agentgate.audit.actions import Action
from agentgate.audit.trail import Subject, record
from agentgate.core.enums import AccountStatus
from agentgate.core.ids import new_account_id
from agentgate.web.call import Call


async def create_account(stores: AccountStores, call: Call, name: str, *, protected: bool = False) -> StoredAccount:
    """Create an account with the default limits."""
    account = StoredAccount(
        id=new_account_id(),
        name=name,
        status=AccountStatus.ACTIVE,
        protected=protected,
        limits=Limits(),
        created_at=call.now,
    )
    await stores.accounts.add_account(account)
    subject = Subject(account_id=account.id, target=account.id)
    await record(stores, call, Action.ACCOUNT_CREATE, subject, {"name": account.name})
    return account
