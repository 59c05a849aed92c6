"""Sites in SQL."""

from typing import Protocol

from agentgate.lib.configuration_version import ConfigurationStores
from agentgate.people.accounts.repository import AccountStores
from agentgate.protection.credentials.repository import CredentialStores
from agentgate.protection.lists.repositories.entries import ListStore
from agentgate.protection.rules.repositories import RuleStore
from agentgate.protection.sites.repositories.directory import DirectoryStore
from agentgate.protection.sites.repositories.sites import SiteStore


class SiteStores(AccountStores, CredentialStores, Protocol):
    """The ports that a unit of work on sites uses."""

    @property
    def sites(self) -> SiteStore: ...

    @property
    def rules(self) -> RuleStore: ...


class DirectoryStores(ConfigurationStores, Protocol):
    """The ports that the directory reads."""

    @property
    def directory(self) -> DirectoryStore: ...

    @property
    def rules(self) -> RuleStore: ...

    @property
    def lists(self) -> ListStore: ...
