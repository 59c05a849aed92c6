"""Accounts in SQL."""

from typing import Protocol

from agentgate.lib.configuration_version import ConfigurationStores
from agentgate.people.accounts.repositories.accounts import AccountStore
from agentgate.people.accounts.repositories.api_tokens import ApiTokenStore
from agentgate.people.accounts.repositories.members import MemberStore
from agentgate.people.identity.repositories.users import UserStores
from agentgate.people.outbox.repository import OutboxStores


class AccountStores(UserStores, OutboxStores, ConfigurationStores, Protocol):
    """The ports that a unit of work on accounts uses."""

    @property
    def accounts(self) -> AccountStore: ...

    @property
    def members(self) -> MemberStore: ...

    @property
    def api_tokens(self) -> ApiTokenStore: ...
