"""SiteView: a site as the hot path sees it, and the directory that keeps one for every site in memory.

Views are frozen and replaced whole. The directory reloads them when the configuration's version has changed.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from hashlib import blake2s, sha256

import msgspec
import structlog
from msgspec import Struct

from agentgate.lib.bounded_cache import BoundedCache
from agentgate.lib.clock import FOREVER_MS
from agentgate.lib.database import Store, StoreUnavailable
from agentgate.lib.enums import AccountStatus, Mode, TokenBinding, WidgetMode
from agentgate.lib.records import to_json
from agentgate.protection.lists.records import StoredEntry
from agentgate.protection.lists.site_lists import SiteLists, in_force, next_end_ms
from agentgate.protection.rules.compile import compile_rules
from agentgate.protection.rules.effective import effective_of, superseded
from agentgate.protection.rules.evaluate import CompiledRules
from agentgate.protection.rules.records import StoredRules
from agentgate.protection.signals.paths import ROOT_FEEDS
from agentgate.protection.sites.agent_policy import DEFAULT_POLICY, AgentPolicy, read_policy
from agentgate.protection.sites.open_paths import NO_OPEN_PATHS, OpenPaths
from agentgate.protection.sites.private_tokens import Issuer, read_issuers
from agentgate.protection.sites.records import Site, SiteAction
from agentgate.protection.sites.repository import DirectorySecret, DirectorySite, SiteStores
from agentgate.protection.sites.request_matcher import RequestMatcher, make_matcher
from agentgate.protection.sites.route_table import RouteTable

# How long a change by this worker itself may take to be read back.
REFRESH_S = 2.0
# Entries of the young generation: one for each credential in use.
DIGESTS = 8_192


class SiteView(Struct, frozen=True, kw_only=True):
    """A site as decisions read it."""

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
    # The stored site is unusable and there is no earlier view: the gateway cannot decide for it.
    broken: bool = False
    agent_policy: AgentPolicy = DEFAULT_POLICY
    # Whether a form's POST could be another method, by a field in its body.
    form_method_override: bool = True
    # Whether the challenge page gives a clearance for waiting, without JavaScript.
    clearance_without_script: bool = False
    # The name on the challenge page.
    name: str = ""
    # Whether every browser needs a clearance, on any path.
    whole_site: bool = False
    # Paths that are open to one sender each.
    open_paths: OpenPaths = NO_OPEN_PATHS
    # Exact targets of its feeds.
    feeds: frozenset[str] = ROOT_FEEDS
    # None where neither rules nor lists ask for more than labels, scores and routes.
    matcher: RequestMatcher | None = None
    # Names and classes of programs that the site wants, as `ua.wanted` compares them.
    wanted_programs: frozenset[str] = frozenset()
    # Whether paths of refused programs are collected for the owner.
    suggestions: bool = True
    # Binding of its tokens to their holders.
    token_binding: TokenBinding = TokenBinding.NETWORK
    # Issuers of private tokens that it trusts.
    private_token_issuers: tuple[Issuer, ...] = ()


class SiteCaller(Struct, frozen=True, gc=False):
    """A site's server, as its secret identifies it."""

    site: SiteView
    credential_id: str
    # When the overlap of a rotated credential is over.
    expires_ms: int = FOREVER_MS


class SiteDirectory:
    """Every site's view, by key and by number, and every site's servers by the digest of their secret."""

    def __init__(self) -> None:
        self._by_key: Mapping[str, SiteView] = {}
        self._by_id: Mapping[str, SiteView] = {}
        self._by_number: Mapping[int, SiteView] = {}
        # A site of each origin. Origins may be shared.
        self._by_origin: Mapping[str, SiteView] = {}
        # Compiled rules by content: most changes of a site leave its rules alone, and many sites share the server's.
        # The key is all of it: the eight digits of a version could be made to collide with another customer's.
        self._compiled: Mapping[bytes, CompiledRules] = {}
        self._callers: Mapping[bytes, SiteCaller] = {}
        # The digests by which these are found, by one that takes less time: SHA-256 is OpenSSL's, and some thirty pages
        # of code for it must be in the processor's cache. Only of secrets that were right.
        self._digests: BoundedCache[bytes, bytes] = BoundedCache(DIGESTS)
        self._version = -1
        # The inputs of the views, by the site's ID.
        self._read: Mapping[str, _Read] = {}
        # The last rows read, and when the next list entry expires: then the views are rebuilt from these rows.
        self._found = _Found()
        self._next_end_ms: int | None = None
        # How often this worker itself has changed the configuration, and how many of these changes are in the views.
        self.changes = 0
        self._changes_seen = 0
        # When the version was last read from the store: the greatest age of the views.
        self.looked_s = time.monotonic()
        self._refreshed = asyncio.Event()

    def find(self, site_key: str) -> SiteView | None:
        return self._by_key.get(site_key)

    def find_by_id(self, site_id: str) -> SiteView | None:
        return self._by_id.get(site_id)

    def key_of(self, number: int) -> str | None:
        view = self._by_number.get(number)
        return None if view is None else view.site_key

    def find_by_number(self, number: int) -> SiteView | None:
        return self._by_number.get(number)

    def find_by_origin(self, origin: str) -> SiteView | None:
        return self._by_origin.get(origin)

    def find_caller(self, secret: bytes, *, now_ms: int) -> SiteCaller | None:
        """Return the caller with this secret; None if unknown, revoked, past its overlap, or of a deleted account."""
        # Hashed each time: no secret is cached.
        quick = blake2s(secret).digest()
        found = self._digests.young.get(quick) or self._digests.promote(quick)
        stored = found or sha256(secret).digest()
        caller = self._callers.get(stored)
        if caller is None or now_ms >= caller.expires_ms:
            return None
        if found is None:
            self._digests.put(quick, stored)
        return caller

    @property
    def version(self) -> int:
        """The version of the configuration that the views show."""
        return self._version

    def expect_change(self) -> None:
        """Note that this worker has just changed the configuration: the views are stale until reloaded."""
        self.changes += 1
        self._refreshed.clear()

    @property
    def is_fresh(self) -> bool:
        """Return whether the views show everything that this worker itself has changed."""
        return self._changes_seen == self.changes

    async def await_refresh(self) -> None:
        """Wait until the views contain this worker's own changes: a revoked secret must fail right after the answer.

        Almost always that is at once. Changes of other workers are seen at the next poll of the version.
        """
        if self.is_fresh:
            return
        try:
            async with asyncio.timeout(REFRESH_S):
                await self._refreshed.wait()
        except TimeoutError as error:
            raise StoreUnavailable("the configuration could not be reloaded") from error

    async def await_refresh_if_possible(self) -> None:
        """Likewise, but continue with the last good views if they cannot be reloaded."""
        if self.is_fresh:
            return
        try:
            await self.await_refresh()
        except StoreUnavailable:
            structlog.get_logger().warning("a change could not be read back: the last valid configuration stays active")

    def compiled(self, site: int) -> CompiledRules | None:
        view = self._by_number.get(site)
        return view.rules if view is not None else None

    async def refresh(self, store: Store[SiteStores], now_ms: int) -> bool:
        """Reload everything if the configuration has changed; return whether it had."""
        if self._next_end_ms is not None and now_ms >= self._next_end_ms:
            # Before reading the store, which may be unavailable: entries expire anyway.
            self._swap(self._found, now_ms)
        changes = self.changes
        version = await store.read.configuration.version()
        has_changed = version != self._version
        if has_changed:
            # Read after the version: changes in between are read again next time.
            found = _Found(
                await store.read.directory.list_directory(),
                await store.read.directory.list_secrets(),
                await store.read.rules.list_rules(),
                await store.read.lists.list_all_entries(),
            )
            self._swap(found, now_ms)
            self._version = version
        self.looked_s = time.monotonic()
        self._changes_seen = changes
        if changes == self.changes:
            self._refreshed.set()
        return has_changed

    def _swap(self, found: "_Found", now_ms: int) -> None:
        compiled: dict[bytes, CompiledRules] = {}
        entries = in_force(found.entries, now_ms)
        read = {
            each.site.id: _Read(each, found.rules.get(each.site.id), entries.get(each.site.id, ()))
            for each in found.sites
        }
        views = list(filter(None, (self._same_or_new(each, compiled) for each in read.values())))
        self._read = read
        self._found, self._next_end_ms = found, next_end_ms(entries)
        self._by_key = {view.site_key: view for view in views}
        self._by_id = {view.id: view for view in views}
        self._by_number = {view.number: view for view in views}
        self._by_origin = {origin: view for view in views for origin in view.origins}
        self._compiled = compiled
        self._callers = {
            secret.secret_digest: _caller_of(secret, self._by_id[secret.site_id])
            for secret in found.secrets
            if secret.site_id in self._by_id and not self._by_id[secret.site_id].disabled
        }

    def _same_or_new(self, read: "_Read", compiled: dict[bytes, CompiledRules]) -> SiteView | None:
        """Return the present view of an unchanged site, so that its caches stay valid."""
        site_id = read.found.site.id
        last = self._by_id.get(site_id)
        if last is None or last.broken or self._read.get(site_id) != read:
            return self._view_or_last(read, compiled)
        key = to_json(effective_of(read.stored))
        if key not in self._compiled:
            return self._view_or_last(read, compiled)
        compiled[key] = self._compiled[key]
        return last

    def _view_or_last(self, read: "_Read", compiled: dict[bytes, CompiledRules]) -> SiteView | None:
        found = read.found
        try:
            return self._view(read, compiled)
        except (LookupError, TypeError, ValueError) as problem:
            # Stored rows were validated, so this one was changed outside the service. The last good view stays;
            # other sites are not affected.
            structlog.get_logger().error("stored rules cannot be used", site=found.site.site_key, reason=repr(problem))
            return self._by_id.get(found.site.id) or self._broken_view(found, compiled)

    def _broken_view(self, found: DirectorySite, compiled: dict[bytes, CompiledRules]) -> SiteView | None:
        """Return a view marked as broken, so that the site's servers get an error of the service."""
        try:
            routeless = msgspec.structs.replace(found, site=msgspec.structs.replace(found.site, routes=[]))
            return msgspec.structs.replace(self._view(_Read(routeless), compiled), broken=True)
        except (LookupError, TypeError, ValueError):
            return None

    def _policy(self, site: Site) -> AgentPolicy:
        try:
            return read_policy(site.agent_policy)
        except ValueError as problem:
            # Likewise changed outside the service. The site works without its agent policy.
            structlog.get_logger().error(
                "a stored agent policy cannot be used", site=site.site_key, reason=str(problem)
            )
            last = self._by_id.get(site.id)
            return DEFAULT_POLICY if last is None else last.agent_policy

    def _view(self, read: "_Read", compiled: dict[bytes, CompiledRules]) -> SiteView:
        found, site = read.found, read.found.site
        effective = effective_of(read.stored)
        key = to_json(effective)
        if key not in compiled:
            compiled[key] = self._compiled.get(key) or compile_rules(effective)
        for change in superseded(read.stored.rule_set) if read.stored else ():
            structlog.get_logger().warning(
                "stored rules name a deleted version of a managed group; the current one applies",
                site=site.site_key,
                group=change,
            )
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
            agent_policy=self._policy(site),
            form_method_override=site.form_method_override,
            clearance_without_script=site.clearance_without_script,
            name=site.name,
            whole_site=site.whole_site,
            open_paths=OpenPaths(site.open_paths) if site.open_paths else NO_OPEN_PATHS,
            feeds=frozenset(site.feeds) or ROOT_FEEDS,
            matcher=make_matcher(compiled[key].predicates, SiteLists(read.entries) if read.entries else None),
            wanted_programs=frozenset(site.wanted_programs),
            suggestions=site.suggestions,
            token_binding=site.token_binding,
            private_token_issuers=read_issuers(site.private_token_issuers),
        )


class _Found(Struct, frozen=True):
    """All rows of one reload."""

    sites: Sequence[DirectorySite] = ()
    secrets: Sequence[DirectorySecret] = ()
    rules: Mapping[str, StoredRules] = {}
    entries: Mapping[str, tuple[StoredEntry, ...]] = {}


class _Read(Struct, frozen=True):
    """Inputs of a site's view: the site, its rules, and its unexpired list entries."""

    found: DirectorySite
    stored: StoredRules | None = None
    entries: tuple[StoredEntry, ...] = ()


def _caller_of(secret: DirectorySecret, site: SiteView) -> SiteCaller:
    return SiteCaller(site, secret.credential_id, FOREVER_MS if secret.expires_ms is None else secret.expires_ms)
