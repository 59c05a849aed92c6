"""What sites ask of the durable store."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from agentgate.lib.configuration_version import ConfigurationStores
from agentgate.lib.enums import AccountStatus
from agentgate.lib.moment import Moment
from agentgate.people.accounts.ports import AccountStores
from agentgate.protection.credentials.ports import CredentialStores
from agentgate.protection.lists.ports import ListStore
from agentgate.protection.rules.ports import RuleStore
from agentgate.protection.sites.records import CredentialCounts, Site


class ListedSite(Struct, frozen=True, kw_only=True):
    """A site with what a list shows beside it."""

    site: Site
    customer_name: str
    credentials: CredentialCounts


class SiteStore(Protocol):
    """The sites of all accounts."""

    async def add_site(self, site: Site) -> bool:
        """Keep a new site; False when its key exists already."""
        ...

    async def find_site(self, site_key: str, *, account_id: str | None) -> Site | None:
        """Return a site; None when there is none, or when it is not of the given account."""
        ...

    async def list_own_site_keys(self) -> list[str]:
        """Return the keys of the service's own sites, whether there is such a site or not."""
        ...

    async def save_own_site_keys(self, site_keys: Sequence[str]) -> None:
        """Keep which sites are the service's own. Their accounts are protected from now on, and no others."""
        ...

    async def find_number(self, site_id: str) -> int:
        """Return the number under which events know an existing site."""
        ...

    async def list_sites(self, *, account_id: str | None, now_ms: int) -> list[ListedSite]:
        """Return the sites of an account, or all with None, newest first."""
        ...

    async def find_listed(self, site_id: str, *, now_ms: int) -> ListedSite | None:
        """Return one site as a list shows it, or None."""
        ...

    async def save_site(self, site: Site) -> None:
        """Keep a site's changed fields."""
        ...

    async def save_agent_policy(self, site_id: str, policy: Mapping[str, Any], now_ms: int) -> None:
        """Keep a site's agent policy."""
        ...

    async def lock_site(self, site_id: str) -> None:
        """Keep other units of work from changing the site until this one is done."""
        ...


class SiteActivity(Struct, frozen=True, kw_only=True):
    """What was seen of a site: outcomes since midnight UTC, and when an event last arrived."""

    today: dict[str, int]
    last_event_at: Moment | None


class ActivityStore(Protocol):
    """Counts of traffic, as far as sites show them."""

    async def list_activity(self, site_ids: Sequence[str], *, now_ms: int) -> dict[str, SiteActivity]:
        """Return the activity of those sites that had any."""
        ...

    async def forget_sites(self, account_id: str) -> None:
        """Forget the activity of all sites of an account."""
        ...


class SiteStores(AccountStores, CredentialStores, Protocol):
    """The ports that a unit of work on sites uses."""

    @property
    def sites(self) -> SiteStore: ...

    @property
    def rules(self) -> RuleStore: ...


class DirectorySite(Struct, frozen=True, kw_only=True):
    """A site as stored, with what the directory needs beside it."""

    site: Site
    number: int
    account_status: AccountStatus
    captures_features: bool


class DirectorySecret(Struct, frozen=True, kw_only=True):
    """A credential that is not revoked, under what its secret leaves behind."""

    secret_digest: bytes
    credential_id: str
    site_id: str
    # None for one that was not rotated.
    expires_ms: int | None


class DirectoryStore(Protocol):
    """All sites at once."""

    async def list_secrets(self) -> list[DirectorySecret]:
        """Return every credential that is not revoked, whether its overlap is over or not."""
        ...

    async def list_directory(self) -> list[DirectorySite]:
        """Return every site."""
        ...


class DirectoryStores(ConfigurationStores, Protocol):
    """The ports that the directory reads."""

    @property
    def directory(self) -> DirectoryStore: ...

    @property
    def rules(self) -> RuleStore: ...

    @property
    def lists(self) -> ListStore: ...


class Sighting(Struct, frozen=True):
    """When the first event of a site that is known arrived, and when the last one."""

    first_ms: int
    last_ms: int


class HealthCounts(Struct, frozen=True, kw_only=True):
    """What was counted of a site within a while."""

    # Browser tokens given out long enough ago to have been redeemed or to be void by now.
    tokens: int
    # Calls with one of the site's credentials, of whatever kind.
    server_checks: int
    siteverify_success: int
    # By code, and by page origin.
    siteverify_failures: Mapping[str, int]
    refused_origins: Mapping[str, int]


class SiteHealthStore(Protocol):
    """What the checks of a site's health count, and when the site was seen. Sites are asked for by number."""

    async def find_sighting(self, site: int) -> Sighting | None:
        """Return when a site was seen, or None when it never was."""
        ...

    async def count_health(self, site: int, *, from_ms: int, to_ms: int, tokens_to_ms: int) -> HealthCounts:
        """Return the counts of a range, tokens only of its part up to a moment."""
        ...
