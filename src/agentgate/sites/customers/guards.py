"""Scope: from an account's ID in the path to the account."""

from dataclasses import dataclass, fields
from typing import Any

from agentgate.http.call import Call
from agentgate.http.guards import declares
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.people.accounts.records import StoredAccount
from agentgate.sites.customers.repository import CustomerStores


@dataclass(frozen=True, kw_only=True)
class CustomerCall(Call):
    """A call whose path names an account. Operators see deleted ones too, until they are purged."""

    account: StoredAccount


@declares(refuses=("not_found",))
async def customer_in_path(call: Call, store: Store[CustomerStores]) -> CustomerCall:
    """Find the account that the path names."""
    account = await store.read.accounts.find_account(call.params["id"])
    if account is None:
        raise Refused("not_found", "There is no customer with this ID.")
    call.log["account"] = account.id
    known: dict[str, Any] = {field.name: getattr(call, field.name) for field in fields(Call)}
    return CustomerCall(**known, account=account)
