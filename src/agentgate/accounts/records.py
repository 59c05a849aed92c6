"""Accounts as stored, and the limits that bind them."""

from agentgate import limits
from agentgate.core.enums import AccountStatus
from agentgate.core.moment import Moment
from agentgate.core.records import Record


class Limits(Record, frozen=True, kw_only=True):
    """How much an account may have. An operator can change each of them."""

    sites: int = limits.SITES_PER_ACCOUNT
    credentials_per_site: int = limits.LIVE_SECRETS_PER_SITE
    members: int = limits.MEMBERS_PER_ACCOUNT
    tokens: int = limits.LIVE_API_TOKENS_PER_ACCOUNT
    origins_per_site: int = limits.ORIGINS_PER_CONSOLE_SITE


class StoredAccount(Record, frozen=True, kw_only=True):
    """An account as the store keeps it. `protected` marks the service's own, which nobody may delete or empty."""

    id: str
    name: str
    status: AccountStatus
    protected: bool
    limits: Limits
    created_at: Moment
