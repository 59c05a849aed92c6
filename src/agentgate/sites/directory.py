"""SiteView: a site as the hot path sees it, and the directory that keeps one for every site in memory.

Views are frozen and replaced whole. When the configuration's version has changed, the directory reads only the sites
that the changes name. Many sites are read in slices, and requests are served between the slices.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2s, sha256
from weakref import WeakValueDictionary

import msgspec
import structlog
from msgspec import Struct, UnsetType

from agentgate.lib.bounded_cache import BoundedCache
from agentgate.lib.clock import FOREVER_MS
from agentgate.lib.database import Store
from agentgate.lib.enums import AccountStatus, Assistants, LoadState, Mode, TokenBinding, WidgetMode
from agentgate.lib.records import to_json
from agentgate.people.installation.configuration_version import Changes
from agentgate.people.installation.own_changes import OwnChanges
from agentgate.sites.agent_policy import DEFAULT_POLICY, AgentPolicy, read_policy
from agentgate.sites.ai_terms import AiUse, read_ai_use, robots_of
from agentgate.sites.credentials.fleets import Fleets
from agentgate.sites.lists.site_lists import SiteLists
from agentgate.sites.open_paths import NO_OPEN_PATHS, ROOT_FEEDS, OpenPaths
from agentgate.sites.private_tokens import Issuer, directories_of, read_issuers
from agentgate.sites.records import Site, SiteAction, SiteLoad
from agentgate.sites.repository import DirectorySecret, DirectorySite, SiteStores
from agentgate.sites.request_matcher import RequestMatcher, make_matcher, searchable_lists
from agentgate.sites.route_table import RouteTable
from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.effective import active_at, effective_of, scheduled_items
from agentgate.sites.rules.evaluate import CompiledRules
from agentgate.sites.rules.patterns.robots_rules import RobotsRules
from agentgate.sites.site_inputs import AccountState, SiteInputs, fetch_sites, inputs_at, read_rows
from agentgate.sites.validate import canonical_origin

# Entries of the young generation: one for each credential in use.
DIGESTS = 8_192
# Sites of one slice, at the least and at the most, and how long it may take before the next one has fewer.
LEAST_AT_ONCE, MOST_AT_ONCE = 1, 256
SLICE_S = 0.004
# An account with more sites than this closes at once and reads them later.
FEW_SITES = 16
# IDs and digests of one page.
IDS_AT_ONCE = 1_000


class SiteView(Struct, frozen=True, kw_only=True):
    """A site as decisions read it."""

    id: str
    number: int
    site_key: str
    account_id: str
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
    # Whether every browser needs a clearance at present, on any path; and the labels `site.*` of all its requests.
    whole_site: bool = False
    load_labels: tuple[str, ...] = ()
    load: SiteLoad | None = None
    # Paths that are open to one sender each.
    open_paths: OpenPaths = NO_OPEN_PATHS
    # Exact targets of its feeds.
    feeds: frozenset[str] = ROOT_FEEDS
    # None where neither rules nor lists ask for more than labels, scores and routes.
    matcher: RequestMatcher | None = None
    # Names and classes of programs that the site wants, as `ua.wanted` compares them.
    wanted_programs: frozenset[str] = frozenset()
    # Whether paths of blocked programs are collected for the owner.
    suggestions: bool = True
    # Whether addresses of scanners are collected for the owner's firewall.
    block_feed: bool = False
    # Whether its pages have links that no person sees.
    decoys: bool = False
    token_binding: TokenBinding = TokenBinding.NETWORK
    # Issuers of private tokens that it trusts: by keys that were entered, and by name.
    private_token_issuers: tuple[Issuer, ...] = ()
    issuer_directories: tuple[str, ...] = ()
    ai_use: AiUse | None = None
    machine_tokens_per_hour: int = 0
    assistants: Assistants = Assistants.BLOCK
    robots_txt: str = ""
    # The same, parsed; None if the site has neither this file nor an AI use.
    robots: RobotsRules | None = None
    account: AccountState = msgspec.field(default_factory=AccountState)

    @property
    def disabled(self) -> bool:
        """Whether the account was deleted: no more challenges."""
        return self.account.is_deleted


class SiteCaller(Struct, frozen=True, gc=False):
    """A site's server, as its secret identifies it."""

    site: SiteView
    credential_id: str
    # When the overlap of a rotated credential ends.
    expires_ms: int = FOREVER_MS


class SiteDirectory(OwnChanges):
    """Every site's view, by key and by number, and every site's servers by the digest of their secret."""

    def __init__(self) -> None:
        super().__init__()
        self._by_key: dict[str, SiteView] = {}
        self._by_id: dict[str, SiteView] = {}
        self._by_number: dict[int, SiteView] = {}
        # The sites of each origin, by ID. Origins may be shared.
        self._by_origin: dict[str, dict[str, SiteView]] = {}
        # Compiled rules by content: most changes of a site leave its rules alone, and many sites share the server's.
        # The key is a whole digest: the eight digits of a version could be made to collide with another customer's.
        self._compiled: WeakValueDictionary[bytes, CompiledRules] = WeakValueDictionary()
        self._server_rules = compile_rules(effective_of(None))
        self._callers: dict[bytes, SiteCaller] = {}
        # Credentials of whole accounts, which the gateway alone accepts.
        self.fleets = Fleets(canonical_origin)
        # Lookup digests by another digest of the secret that takes less time: SHA-256 is OpenSSL's and needs some
        # thirty pages of code in the CPU cache. Contains valid secrets only.
        self._digests: BoundedCache[bytes, bytes] = BoundedCache(DIGESTS)
        self._accounts: dict[str, AccountState] = {}
        # Accounts that are open again once their sites are read: their revoked secrets remain revoked.
        self._reopening: set[str] = set()
        self._version = -1
        # The inputs of the views, by the site's ID.
        self._read: dict[str, SiteInputs] = {}
        # When the next entry of a site's lists ends, of sites that have such entries, and the first of these moments.
        self._ends: dict[str, int] = {}
        self._next_end_ms = FOREVER_MS
        # IDs of sites that are still to be read.
        self._backlog: set[str] = set()
        # Until everything has been read once, no client waits for a response between slices.
        self._at_once = MOST_AT_ONCE
        self._has_started = False
        # Whether the views may lack changes that are not named: until the backlog is read.
        self._is_behind = False
        # Called with each version once it is active.
        self.on_version: Callable[[int], None] | None = None
        # When the version was last read from the store: the greatest age of the views.
        self.looked_s = time.monotonic()

    def list_loaded(self) -> list[SiteView]:
        """Return the sites whose page rate was above their usual one when it was last compared."""
        return [view for view in self._by_id.values() if view.load and view.load.state is not LoadState.NORMAL]

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
        return next(iter(self._by_origin.get(origin, {}).values()), None)

    def find_caller(self, secret: bytes, *, now_ms: int) -> SiteCaller | None:
        """Return the caller with this secret; None if unknown, revoked, past its overlap, or of a deleted account."""
        # Hashed each time: no secret is cached.
        quick = blake2s(secret).digest()
        found = self._digests.young.get(quick) or self._digests.promote(quick)
        stored = found or sha256(secret).digest()
        caller = self._callers.get(stored)
        if caller is None or now_ms >= caller.expires_ms or caller.site.disabled:
            return None
        if found is None:
            self._digests.put(quick, stored)
        return caller

    @property
    def version(self) -> int:
        """The version of the configuration that the views show."""
        return self._version

    def compiled(self, site: int) -> CompiledRules | None:
        view = self._by_number.get(site)
        return view.rules if view is not None else None

    async def refresh(self, store: Store[SiteStores], now_ms: int, load_models: Callable[[], Awaitable[None]]) -> None:
        """Read all changes since the last time."""
        # Before reading the store, which may be unavailable: entries expire anyway.
        await self._end_entries(now_ms)
        while True:
            changes = self.changes
            version = await store.read.configuration.version()
            if version != self._version:
                named = await store.read.configuration.changes(self._version, version)
                if named is None:
                    await self._start_over(store)
                else:
                    await self._take(store, named, version, now_ms)
                if named is None or named.models:
                    await load_models()
                self._version = version
            self.looked_s = time.monotonic()
            if not self._backlog:
                self._is_behind = False
                self._reopen()
            if not self._is_behind:
                self._show(version, changes)
            if not self._backlog:
                return
            await self._load_slice(store, self._backlog, version, now_ms)

    def _show(self, version: int, changes: int) -> None:
        # First the version: a call that waits for this worker then waits for the others to have the same.
        if self.on_version is not None:
            self.on_version(version)
        if not self._has_started:
            self._has_started, self._at_once = True, LEAST_AT_ONCE
        self.show_changes(changes)

    async def _take(self, store: Store[SiteStores], named: Changes, version: int, now_ms: int) -> None:
        """Read what changes name. An account closes at once; its many sites are read later."""
        site_ids = set(named.sites)
        if named.accounts:
            self.fleets.replace_callers(await store.read.fleets.list_digests())
        for account_id in named.accounts:
            account = self._accounts.get(account_id)
            if account is None:
                continue
            self._note_account(account_id, is_deleted=await store.read.directory.is_deleted(account_id))
            (self._backlog if len(account.sites) > FEW_SITES else site_ids).update(account.sites)
        if len(site_ids) > 1:
            await self._discard_secrets(store, sorted(site_ids))
        while site_ids:
            await self._load_slice(store, site_ids, version, now_ms)

    async def _start_over(self, store: Store[SiteStores]) -> None:
        """Discard revoked secrets, and put every site into the backlog."""
        self._is_behind = True
        directory = store.read.directory
        self.fleets.replace_callers(await store.read.fleets.list_digests())
        deleted = await directory.list_deleted_accounts()
        for account_id in self._accounts:
            self._note_account(account_id, is_deleted=account_id in deleted)
        revoked = set(self._callers)
        page: Sequence[bytes] = [b""] if revoked else []
        while page:
            page = await directory.list_digests(page[-1], IDS_AT_ONCE)
            revoked.difference_update(page)
            await asyncio.sleep(0)
        for digest in revoked:
            del self._callers[digest]
        self._backlog.update(self._read)
        ids = [""]
        while ids:
            ids = await directory.list_ids(ids[-1], IDS_AT_ONCE)
            self._backlog.update(ids)
            await asyncio.sleep(0)

    async def _discard_secrets(self, store: Store[SiteStores], site_ids: Sequence[str]) -> None:
        """Discard the revoked secrets of some sites before reading any of these sites."""
        for start in range(0, len(site_ids), IDS_AT_ONCE):
            page = site_ids[start : start + IDS_AT_ONCE]
            live = {bytes(row[0]) for row in await store.read.directory.list_secrets(page)}
            for site_id in page:
                for secret in self._read[site_id].secrets if site_id in self._read else ():
                    if secret.secret_digest not in live:
                        self._callers.pop(secret.secret_digest, None)

    def _note_account(self, account_id: str, *, is_deleted: bool) -> None:
        account = self._accounts[account_id]
        if is_deleted:
            account.is_deleted = True
            self._reopening.discard(account_id)
        elif account.is_deleted:
            self._reopening.add(account_id)

    def _reopen(self) -> None:
        for account_id in self._reopening:
            if account_id in self._accounts:
                self._accounts[account_id].is_deleted = False
        self._reopening.clear()

    async def _load_slice(self, store: Store[SiteStores], site_ids: set[str], version: int, now_ms: int) -> None:
        """Read some of these sites, put each in place at once with its rules, lists and secrets, and remove its ID."""
        started_s = time.monotonic()
        some = [site_ids.pop() for _ in range(min(self._at_once, len(site_ids)))]
        try:
            rows = await fetch_sites(store, some, version)
            await self._replace(partial(read_rows, rows, now_ms), some, at_once=rows.are_few)
        except BaseException:
            site_ids.update(some)
            raise
        is_short = not self._has_started or time.monotonic() - started_s < SLICE_S
        self._at_once = min(self._at_once * 2, MOST_AT_ONCE) if is_short else max(self._at_once // 2, LEAST_AT_ONCE)

    async def _end_entries(self, now_ms: int) -> None:
        """Rebuild the sites of which a list entry has expired, or a scheduled rule begins or ends."""
        if now_ms < self._next_end_ms:
            return
        over = [site_id for site_id, end_ms in self._ends.items() if now_ms >= end_ms]
        for site_id in over:
            rest = inputs_at(self._read[site_id], now_ms)
            await self._replace(partial(dict, {site_id: rest}), [site_id])
        self._next_end_ms = min(self._ends.values(), default=FOREVER_MS)

    async def _replace(
        self, make: Callable[[], Mapping[str, SiteInputs | None]], site_ids: Iterable[str], *, at_once: bool = False
    ) -> None:
        def build() -> tuple[list[tuple[SiteInputs, SiteView | None]], set[str]]:
            made = make()
            return [(read, self._same_or_new(read)) for read in made.values() if read], set(site_ids).difference(made)

        # Reading and compiling the rules and lists of one site can take tens of milliseconds.
        built, missing = build() if at_once else await asyncio.to_thread(build)
        # Nothing is awaited from here on: no request sees a part of it.
        for read, view in built:
            if view is not None:
                self._put(read, view)
        for site_id in missing:
            self._remove(site_id)

    def _put(self, read: SiteInputs, view: SiteView) -> None:
        """Put a site in the place of what was known of it."""
        self._remove(view.id)
        account = view.account
        if read.found.account_status == AccountStatus.DELETED:
            account.is_deleted = True
        self._accounts[view.account_id] = account
        account.sites.add(view.id)
        self._read[view.id] = read
        self._by_key[view.site_key] = self._by_id[view.id] = self._by_number[view.number] = view
        for origin in view.origins:
            self._by_origin.setdefault(origin, {})[view.id] = view
        self.fleets.put(view)
        for secret in read.secrets:
            self._callers[secret.secret_digest] = _caller_of(secret, view)
        if read.next_ms is not None:
            self._ends[view.id] = read.next_ms
            self._next_end_ms = min(self._next_end_ms, read.next_ms)

    def _remove(self, site_id: str) -> None:
        view, read = self._by_id.pop(site_id, None), self._read.pop(site_id, None)
        if view is None or read is None:
            return
        del self._by_key[view.site_key], self._by_number[view.number]
        for origin in view.origins:
            sharing = self._by_origin[origin]
            del sharing[site_id]
            if not sharing:
                del self._by_origin[origin]
        self.fleets.remove(view)
        self._ends.pop(site_id, None)
        for secret in read.secrets:
            self._callers.pop(secret.secret_digest, None)
        view.account.sites.discard(site_id)
        if not view.account.sites:
            self._accounts.pop(view.account_id, None)

    def _same_or_new(self, read: SiteInputs) -> SiteView | None:
        """Return the present view of an unchanged site, so that its caches stay valid.

        A site that was damaged outside the service keeps its last good view; other sites are not affected.
        """
        found = read.found
        last, before = self._by_id.get(found.site.id), self._read.get(found.site.id)
        if read.damage:
            return last or self._broken_view(found)
        try:
            if last is None or before is None or last.broken or not before.gives_same_view(read):
                return self._view(read)
        except Exception as problem:  # noqa: BLE001 - whatever a damaged value raises
            structlog.get_logger().error("stored rules cannot be used", site=found.site.site_key, reason=repr(problem))
            return last or self._broken_view(found)
        return last

    def _broken_view(self, found: DirectorySite) -> SiteView | None:
        """Return a view marked as broken, so that the site's servers get an error of the service."""
        try:
            routeless = msgspec.structs.replace(found, site=msgspec.structs.replace(found.site, routes=[]))
            return msgspec.structs.replace(self._view(SiteInputs(routeless)), broken=True)
        except Exception:  # noqa: BLE001 - likewise
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

    def _rules_and_lists(self, read: SiteInputs) -> tuple[CompiledRules, RequestMatcher | None]:
        """Return the rules and the matcher. Reuse the present view's if only other fields of the site have changed."""
        site_id = read.found.site.id
        last, before = self._by_id.get(site_id), self._read.get(site_id)
        if last is not None and before is not None and not last.broken and before.gives_same_rules(read):
            return last.rules, last.matcher
        rules = self._rules(read)
        networks = searchable_lists(read.networks, before.networks if before else None, last.matcher if last else None)
        return rules, make_matcher(rules.predicates, SiteLists(read.entries) if read.entries else None, networks)

    def _rules(self, read: SiteInputs) -> CompiledRules:
        if read.stored is None:
            return self._server_rules
        effective = effective_of(read.stored)
        if scheduled_items(read.stored):
            effective = active_at(effective, read.scheduled_ms)
        key = sha256(to_json(effective)).digest()
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compiled[key] = compile_rules(effective)
        return compiled

    def _view(self, read: SiteInputs) -> SiteView:
        found, site = read.found, read.found.site
        rules, matcher = self._rules_and_lists(read)
        return SiteView(
            id=site.id,
            number=found.number,
            site_key=site.site_key,
            account_id=site.customer_id,
            account=self._accounts.setdefault(site.customer_id, AccountState()),
            mode=site.mode,
            widget_mode=site.widget_mode,
            origins=frozenset(site.allowed_origins),
            actions=site.actions,
            routes=RouteTable(site.routes),
            rules=rules,
            captures_features=found.captures_features,
            agent_policy=self._policy(site),
            form_method_override=site.form_method_override,
            clearance_without_script=site.clearance_without_script,
            name=site.name,
            whole_site=read.whole_site,
            load_labels=read.load_labels,
            load=None if isinstance(site.load, UnsetType) else site.load,
            open_paths=OpenPaths(site.open_paths) if site.open_paths else NO_OPEN_PATHS,
            feeds=frozenset(site.feeds) or ROOT_FEEDS,
            matcher=matcher,
            wanted_programs=frozenset(site.wanted_programs),
            suggestions=site.suggestions,
            block_feed=site.block_feed,
            decoys=site.decoys,
            token_binding=site.token_binding,
            private_token_issuers=read_issuers(site.private_token_issuers),
            issuer_directories=directories_of(site.private_token_issuers),
            ai_use=read_ai_use(site.ai_use),
            machine_tokens_per_hour=site.machine_tokens_per_hour,
            assistants=site.assistants,
            robots_txt=site.robots_txt,
            robots=robots_of(site),
        )


def _caller_of(secret: DirectorySecret, site: SiteView) -> SiteCaller:
    return SiteCaller(site, secret.credential_id, FOREVER_MS if secret.expires_ms is None else secret.expires_ms)
