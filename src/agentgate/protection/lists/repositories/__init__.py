"""Lists and what stored decisions say of them, in SQL."""

from typing import Protocol

from agentgate.lib.configuration_version import ConfigurationStores
from agentgate.people.audit.repository import AuditStores
from agentgate.protection.lists.repositories.entries import ListStore


class ListStores(AuditStores, ConfigurationStores, Protocol):
    """The repositories that a unit of work on lists uses."""

    @property
    def lists(self) -> ListStore: ...
