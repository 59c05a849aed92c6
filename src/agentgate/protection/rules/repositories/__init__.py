"""Rules in SQL."""

from typing import Protocol

from agentgate.events.queries.ports import TrafficStores
from agentgate.lib.configuration_version import ConfigurationStores
from agentgate.people.audit.repository import AuditStores
from agentgate.protection.rules.repositories.revisions import RevisionStore
from agentgate.protection.rules.repositories.rules import RuleStore


class RuleStores(AuditStores, ConfigurationStores, Protocol):
    """The repositories that a unit of work on rules uses."""

    @property
    def rules(self) -> RuleStore: ...


class DecisionStores(TrafficStores, Protocol):
    """The repositories that reading a decision with its rule uses."""

    @property
    def rules(self) -> RuleStore: ...

    @property
    def rule_revisions(self) -> RevisionStore: ...
