"""SiteView: a site as the hot path sees it, and the directory that keeps one for every site in memory.

Views are frozen and swapped whole. The directory reads them anew when the configuration's version has changed.
"""

from collections.abc import Iterable, Mapping

import structlog
from msgspec import Struct

from agentgate.core.database import Store
from agentgate.core.enums import AccountStatus, Mode, WidgetMode
from agentgate.core.records import to_json
from agentgate.rules.compile import compile_rules
from agentgate.rules.effective import effective_of
from agentgate.rules.evaluate import CompiledRules
from agentgate.rules.records import StoredRules
from agentgate.sites.ports import DirectorySite, DirectoryStores
from agentgate.sites.records import SiteAction
from agentgate.sites.routes import RouteTable


class SiteView(Struct, frozen=True, kw_only=True):
    """All that a decision needs to know of a site."""

    id: str
    number: int
    site_key: str
    account_id: str
    # The account was deleted: no more challenges.
    disabled: bool
    mode: Mode
    widget_mode: WidgetMode
    origins: frozenset[str]
    actions: Mapping[str, SiteAction]
    routes: RouteTable
    rules: CompiledRules
    captures_features: bool


class SiteDirectory:
    """Every site's view, by key and by number."""

    def __init__(self) -> None:
        self._by_key: Mapping[str, SiteView] = {}
        self._by_id: Mapping[str, SiteView] = {}
        self._by_number: Mapping[int, SiteView] = {}
        # Rules by what they say: most changes of a site leave its rules alone, and many sites share the server's.
        # The key is all of it: the eight digits of a version could be made to collide with another customer's.
        self._compiled: Mapping[bytes, CompiledRules] = {}
        self._version = -1

    def find(self, site_key: str) -> SiteView | None:
        """Return the site with this key."""
        return self._by_key.get(site_key)

    def find_by_id(self, site_id: str) -> SiteView | None:
        """Return the site with this ID."""
        return self._by_id.get(site_id)

    def compiled(self, site: int) -> CompiledRules | None:
        """Return the rules of the site with this number."""
        view = self._by_number.get(site)
        return view.rules if view is not None else None

    async def refresh(self, store: Store[DirectoryStores]) -> bool:
        """Read everything anew if the configuration has changed; say whether it had."""
        version = await store.read.configuration.version()
        if version == self._version:
            return False
        # Read after the version: what changes meanwhile is read again next time.
        sites = await store.read.directory.list_directory()
        self._swap(sites, await store.read.rules.list_rules())
        self._version = version
        return True

    def _swap(self, sites: Iterable[DirectorySite], rules: Mapping[str, StoredRules]) -> None:
        compiled: dict[bytes, CompiledRules] = {}
        views = list(filter(None, (self._view_or_last(each, rules.get(each.site.id), compiled) for each in sites)))
        self._by_key = {view.site_key: view for view in views}
        self._by_id = {view.id: view for view in views}
        self._by_number = {view.number: view for view in views}
        self._compiled = compiled

    def _view_or_last(
        self, found: DirectorySite, stored: StoredRules | None, compiled: dict[bytes, CompiledRules]
    ) -> SiteView | None:
        try:
            return self._view(found, stored, compiled)
        except (LookupError, TypeError, ValueError) as problem:
            # What is stored was checked before, so somebody has changed it behind our back. The last good view goes on;
            # other sites must not notice.
            structlog.get_logger().error("stored rules cannot be used", site=found.site.site_key, reason=repr(problem))
            return self._by_id.get(found.site.id)

    def _view(self, found: DirectorySite, stored: StoredRules | None, compiled: dict[bytes, CompiledRules]) -> SiteView:
        site = found.site
        effective = effective_of(stored)
        key = to_json(effective)
        if key not in compiled:
            compiled[key] = self._compiled.get(key) or compile_rules(effective)
        return SiteView(
            id=site.id,
            number=found.number,
            site_key=site.site_key,
            account_id=site.customer_id,
            disabled=found.account_status == AccountStatus.DELETED,
            mode=site.mode,
            widget_mode=site.widget_mode,
            origins=frozenset(site.allowed_origins),
            actions=site.actions,
            routes=RouteTable(site.routes),
            rules=compiled[key],
            captures_features=found.captures_features,
        )
