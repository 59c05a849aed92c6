"""What sites ask of the durable store."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from agentgate.accounts.ports import AccountStores
from agentgate.core.moment import Moment
from agentgate.credentials.ports import CredentialStores
from agentgate.rules.ports import RuleStore
from agentgate.sites.records import CredentialCounts, Site


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

    async def list_sites(self, *, account_id: str | None, now_ms: int) -> list[ListedSite]:
        """Return the sites of an account, or all with None, newest first."""
        ...

    async def find_listed(self, site_id: str, *, now_ms: int) -> ListedSite | None:
        """Return one site as a list shows it, or None."""
        ...

    async def save_site(self, site: Site) -> None:
        """Keep a site's changed fields."""
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
