"""Sites in SQL: one at a time, all of them for the directory, and the counts of their traffic."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol

from msgspec import Struct

from agentgate.events.queries.ports import CountStore, SightingStore, SiteSums
from agentgate.events.records import CounterName
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.database import LockingRepository, Reader, RecordTable, Repository, Row, SqlSession, Value, places
from agentgate.lib.enums import AccountStatus, Outcome
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.names import like_pattern
from agentgate.lib.records import to_json
from agentgate.lib.tasks.off_loop import consumed, off_loop
from agentgate.lib.tasks.turns import OneByOne
from agentgate.people.accounts.repository import AccountStores
from agentgate.sites.credentials.repository import CredentialStores, FleetStores
from agentgate.sites.lists.network_repository import NetworkListStores
from agentgate.sites.lists.repository import ListStores
from agentgate.sites.records import CHANGEABLE, CredentialCounts, Site, SiteLoad
from agentgate.sites.rules.repository import RuleStores
from agentgate.sites.token_issuers.repository import TokenIssuerStores


class ListedSite(Struct, frozen=True, kw_only=True):
    """A site with the further columns of a list."""

    site: Site
    customer_name: str
    credentials: CredentialCounts


class SiteFilter(Struct, frozen=True, kw_only=True):
    """Which sites a list shows: of an account, with a text in key, name or origins, behind a site, and how many."""

    account_id: str | None = None
    text: str = ""
    # When that site was created, and its key.
    behind: tuple[int, str] | None = None
    # None: all.
    limit: int | None = None


class SiteActivity(Struct, frozen=True, kw_only=True):
    """Activity of a site: outcomes since midnight UTC, and when an event last arrived."""

    today: dict[str, int]
    last_event_at: Moment | None


_SITES = RecordTable(
    "site",
    Site,
    named={"customer_id": "account_id"},
    json=(
        *("allowed_origins", "actions", "routes", "open_paths", "feeds", "wanted_programs", "private_token_issuers"),
        "ai_use",
        "agent_policy",
        "load",
    ),
    # Rules are in a separate table.
    absent=("rule_set",),
)
# Columns that a change of a site saves. The agent policy is saved apart; the others never change.
_SAVED = ("customer_id", *CHANGEABLE, "updated_at")
_LISTED = f"""SELECT {_SITES.qualified}, account.name,
        (SELECT count(*) FROM credential WHERE credential.site_id = site.id AND revoked_ms IS NULL
            AND (expires_ms IS NULL OR expires_ms > $1)),
        (SELECT count(*) FROM credential WHERE credential.site_id = site.id)
    FROM site JOIN account ON account.id = site.account_id"""  # noqa: S608 - the parts are constants

_NAMED = r"""(lower(site.site_key) LIKE {0} ESCAPE '\' OR lower(site.name) LIKE {0} ESCAPE '\'
    OR site.allowed_origins LIKE {0} ESCAPE '\')"""
ALL_SITES = 2**31
# Values of one statement.
IDS_AT_ONCE = 500
# At most so much is read into records in the event loop.
FEW_ROWS, FEW_CHARACTERS = 12, 4_000

# Removes everything that was recorded about the site of a number.
ForgetSite = Callable[[int], Awaitable[None]]


class SiteStore(LockingRepository):
    async def add_site(self, site: Site) -> bool:
        """Insert a site; False when its key exists already."""
        # Numbers are sequential. Even the numbers of purged sites are never reused.
        await self._session.lock("site-number")
        added = await self._session.run(
            f"""INSERT INTO site ({_SITES.columns}, number)
                SELECT {_SITES.places}, 1 + coalesce(
                    (SELECT max(number) FROM site WHERE number > (SELECT max(last) FROM site_number)),
                    (SELECT max(last) FROM site_number))
                WHERE NOT EXISTS (SELECT 1 FROM site WHERE site_key = $3)""",  # noqa: S608 - constants
            *_SITES.values(site),
        )
        return added == 1

    async def find_site(self, site_key: str, *, account_id: str | None) -> Site | None:
        """Return a site; None when there is none, or when it is not of the given account."""
        site = await _SITES.find(self._session, "site_key = $1", site_key)
        return site if site is not None and account_id in {None, site.customer_id} else None

    async def get_site(self, site_key: str, *, account_id: str | None) -> Site:
        """Return a site of the given account; raise `Refused` if it does not exist, or was moved or purged."""
        site = await self.find_site(site_key, account_id=account_id)
        if site is None:
            raise Refused("site_not_found")
        return site

    async def list_own_site_keys(self) -> list[str]:
        """Return the keys of the service's own sites, whether there is such a site or not."""
        rows = await self._session.all("SELECT site_key FROM service_site ORDER BY site_key")
        return [site_key for (site_key,) in rows]

    async def save_own_site_keys(self, site_keys: Sequence[str]) -> None:
        """Save which sites are the service's own. Their accounts are protected from now on, and no others."""
        # Several workers start at once and save the same.
        await self._session.lock("service-site")
        await self._session.run("DELETE FROM service_site")
        for site_key in site_keys:
            await self._session.run("INSERT INTO service_site (site_key) VALUES ($1)", site_key)

    async def find_number(self, site_id: str) -> int:
        """Return the number under which events know an existing site."""
        row = await self._session.one("SELECT number FROM site WHERE id = $1", site_id)
        if row is None:
            # Purged between the guard and here.
            raise Refused("site_not_found")
        return int(row[0])

    async def list_sites(self, wanted: SiteFilter, *, now_ms: int) -> list[ListedSite]:
        """Return the sites that a filter finds, newest first."""
        conditions: list[str] = []
        values: list[Value] = [now_ms]
        if wanted.account_id is not None:
            values.append(wanted.account_id)
            conditions.append(f"site.account_id = ${len(values)}")
        if wanted.text:
            values.append(like_pattern(wanted.text))
            conditions.append(_NAMED.format(f"${len(values)}"))
        if wanted.behind is not None:
            values += wanted.behind
            number = f"coalesce((SELECT number FROM site WHERE site_key = ${len(values)}), 0)"  # noqa: S608 - a place
            conditions.append(f"(site.created_ms, site.number) < (${len(values) - 1}, {number})")
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        values.append(ALL_SITES if wanted.limit is None else wanted.limit)
        newest = f"ORDER BY site.created_ms DESC, site.number DESC LIMIT ${len(values)}"
        rows = await self._session.all(f"{_LISTED} {where} {newest}", *values)
        return await off_loop(len(rows), lambda: [_listed(row) for row in consumed(rows)])

    async def find_listed(self, site_id: str, *, now_ms: int) -> ListedSite | None:
        row = await self._session.one(f"{_LISTED} WHERE site.id = $2", now_ms, site_id)
        return _listed(row) if row else None

    async def save_site(self, site: Site) -> None:
        """Save a site's changed fields."""
        await _SITES.update(self._session, site, *_SAVED)

    async def save_load(self, site_id: str, load: SiteLoad) -> None:
        await self._session.run("UPDATE site SET load = $2 WHERE id = $1", site_id, to_json(load).decode())

    async def save_agent_policy(self, site_id: str, policy: Mapping[str, Any], now_ms: int) -> None:
        text = to_json(policy).decode()
        await self._session.run(
            "UPDATE site SET agent_policy = $2, updated_ms = $3 WHERE id = $1", site_id, text, now_ms
        )

    async def lock_site(self, site_id: str) -> None:
        """Keep other units of work from changing the site until this one is done."""
        await self._session.lock("site", site_id)


class ActivityStore:
    """Counts of sites' traffic, in other databases than the sites."""

    def __init__(
        self, config: SqlSession, sums: SiteSums, *, forget_site: ForgetSite, hot: SqlSession | None = None
    ) -> None:
        self._config = config
        self._sums = sums
        self._forget_site = forget_site
        self._hot = hot
        self._readers = OneByOne()

    async def list_activity(self, site_ids: Sequence[str], *, now_ms: int) -> dict[str, SiteActivity]:
        numbers: dict[int, str] = dict(await self._numbers(site_ids))
        counts = await self._sums.list_sums(now_ms // DAY_MS, min(numbers, default=0), max(numbers, default=0))
        # Threads end several reads at once, and what follows takes a millisecond for each response.
        await self._readers.wait()
        return await off_loop(sum(map(len, counts)), lambda: _activity_of(numbers, counts))

    async def forget_sites(self, account_id: str) -> None:
        rows = await self._config.all("SELECT number, id FROM site WHERE account_id = $1", account_id)
        for number, site_id in rows:
            await self._forget_site(number)
            if self._hot is not None:
                await self._hot.run("DELETE FROM charge WHERE site_id = $1", site_id)
                await self._hot.run("DELETE FROM submission WHERE site_id = $1", site_id)

    async def _numbers(self, site_ids: Sequence[str]) -> list[Row]:
        found: list[Row] = []
        for start in range(0, len(site_ids), IDS_AT_ONCE):
            page = site_ids[start : start + IDS_AT_ONCE]
            sql = f"SELECT number, id FROM site WHERE id IN ({places(page)})"  # noqa: S608 - places
            found += await self._config.all(sql, *page)
        return found


def _activity_of(numbers: Mapping[int, str], read: list[list[Row]]) -> dict[str, SiteActivity]:
    found: dict[int, tuple[int, ...]] = {}
    for site, *counts in chain.from_iterable(read):
        # Set parameters differ between dialects, so the rows of other sites are dropped here.
        if site in numbers:
            last_ms, *sums = map(int, counts)
            last_before_ms, *sums_before = found.get(site, (0,) * len(counts))
            found[site] = (max(last_ms, last_before_ms), *map(sum, zip(sums, sums_before, strict=True)))
    keys = (*(outcome.value for outcome in Outcome), "monitored")
    return {
        numbers[site]: SiteActivity(
            today=dict(zip(keys, counts, strict=True)), last_event_at=Moment(last_event_ms) if last_event_ms else None
        )
        for site, (last_event_ms, *counts) in found.items()
    }


def _listed(row: Row) -> ListedSite:
    *site, customer_name, active, total = row
    return ListedSite(
        site=_SITES.read(tuple(site)),
        customer_name=customer_name,
        credentials=CredentialCounts(active=active, total=total),
    )


class DirectorySite(Struct, frozen=True, kw_only=True):
    """A stored site with further columns for the directory."""

    site: Site
    number: int
    account_status: AccountStatus
    captures_features: bool


class DirectorySecret(Struct, frozen=True, kw_only=True):
    """A credential that is not revoked, with the digest of its secret."""

    secret_digest: bytes
    credential_id: str
    site_id: str
    # None for one that was not rotated.
    expires_ms: int | None


class DirectoryRows(Struct, frozen=True):
    """All rows of some sites. Reading them into records takes longer than fetching them, and needs no event loop."""

    sites: Sequence[Row]
    secrets: Sequence[Row]
    rules: Sequence[Row]
    entries: Sequence[Row]
    networks: Sequence[Row]

    @property
    def are_few(self) -> bool:
        """Whether a view is made of these rows in less time than a thread is woken: one site of little text."""
        if self.rules or self.networks or len(self.sites) + len(self.secrets) + len(self.entries) > FEW_ROWS:
            return False
        return sum(len(value) for row in self.sites for value in row if isinstance(value, str)) < FEW_CHARACTERS


_DIRECTORY = f"""SELECT {_SITES.qualified}, site.number, account.status, coalesce(feature_capture.enabled, 0)
    FROM site JOIN account ON account.id = site.account_id
    LEFT JOIN feature_capture ON feature_capture.site_id = site.id"""  # noqa: S608 - constants


class DirectoryStore(Repository):
    """Sites with everything that decides for them. Lists are read in pages, each after the last one's end."""

    async def list_sites(self, site_ids: Sequence[str]) -> list[Row]:
        """Return the rows of some sites, for `directory_site`."""
        return await self._session.all(f"{_DIRECTORY} WHERE site.id IN ({places(site_ids)})", *site_ids)

    async def list_secrets(self, site_ids: Sequence[str]) -> list[Row]:
        """Return the credentials of some sites that are not revoked, including those past their overlap."""
        return await self._session.all(
            f"""SELECT secret_digest, id, site_id, expires_ms FROM credential
                WHERE site_id IN ({places(site_ids)}) AND revoked_ms IS NULL""",  # noqa: S608 - places
            *site_ids,
        )

    async def list_ids(self, after_id: str, most: int) -> list[str]:
        rows = await self._session.all("SELECT id FROM site WHERE id > $1 ORDER BY id LIMIT $2", after_id, most)
        return [site_id for (site_id,) in rows]

    async def list_digests(self, after: bytes, most: int) -> list[bytes]:
        """Return the digests after one of all secrets that are not revoked."""
        rows = await self._session.all(
            """SELECT secret_digest FROM credential WHERE secret_digest > $1 AND revoked_ms IS NULL
                ORDER BY secret_digest LIMIT $2""",
            after,
            most,
        )
        return [bytes(digest) for (digest,) in rows]

    async def list_deleted_accounts(self) -> set[str]:
        """Return the accounts that are deleted and not yet removed permanently."""
        rows = await self._session.all("SELECT id FROM account WHERE status = $1", AccountStatus.DELETED.value)
        return {account_id for (account_id,) in rows}

    async def is_deleted(self, account_id: str) -> bool:
        row = await self._session.one("SELECT status FROM account WHERE id = $1", account_id)
        return row is None or row[0] == AccountStatus.DELETED


def directory_site(row: Row) -> DirectorySite:
    *site, number, status, captures = row
    return DirectorySite(
        site=_SITES.read(tuple(site)),
        number=number,
        account_status=AccountStatus(status),
        captures_features=bool(captures),
    )


def directory_secret(row: Row) -> DirectorySecret:
    digest, credential, site, expires_ms = row
    return DirectorySecret(secret_digest=bytes(digest), credential_id=credential, site_id=site, expires_ms=expires_ms)


class Sighting(Struct, frozen=True):
    """When the first event of a site that is known arrived, and when the last one."""

    first_ms: int
    last_ms: int


class HealthCounts(Struct, frozen=True, kw_only=True):
    """Counts of a site in a range."""

    # Browser tokens given out long enough ago to have been redeemed or to be void by now.
    tokens: int
    # Calls with one of the site's credentials, of whatever kind.
    server_checks: int
    siteverify_success: int
    # By code, by page origin, and by host.
    siteverify_failures: Mapping[str, int]
    refused_origins: Mapping[str, int]
    unknown_hosts: Mapping[str, int]
    # Gateway checks with a secret that no site has.
    unknown_secrets: int
    # Tokens that a server showed with an address of the network that earned them, and of another network.
    same_addresses: int = 0
    other_addresses: int = 0


# Pages by site and hour.
PageCounts = Mapping[tuple[int, int], int]


class SeenCounts(CountStore, SightingStore, Protocol):
    """Counts of a site's events, and the times of its first and last event."""


class SiteHealthStore:
    """Counts for a site's health checks, and the times of its first and last event. Sites are identified by number."""

    def __init__(self, stats: Reader, counts: SeenCounts) -> None:
        self._stats = stats
        self._counts = counts

    async def find_sighting(self, site: int) -> Sighting | None:
        """Return when a site's first and last event arrived, or None without any event."""
        seen = await self._counts.find_sighting(site)
        return None if seen is None else Sighting(*seen)

    async def list_pages(self, first_hour: int) -> PageCounts:
        """Return the page loads of all sites since an hour."""
        rows = await self._stats.all(
            "SELECT site, hour, counted FROM counter_hour WHERE name = 'pages' AND hour >= $1", first_hour
        )
        return {(int(site), int(hour)): int(counted) for site, hour, counted in rows}

    async def list_page_hours(self, site: int, first_hour: int, end_hour: int) -> dict[int, int]:
        """Return the page loads of a site by hour; hours without any are absent."""
        rows = await self._stats.all(
            """SELECT hour, counted FROM counter_hour
                WHERE site = $1 AND hour >= $2 AND hour < $3 AND name = 'pages'""",
            site,
            first_hour,
            end_hour,
        )
        return {int(hour): int(counted) for hour, counted in rows}

    async def count_health(self, site: int, *, from_ms: int, to_ms: int, tokens_to_ms: int) -> HealthCounts:
        """Return the counts of a range, tokens only of its part up to a moment."""
        rows = await self._stats.all(
            """SELECT name, value, sum(counted) FROM counter_hour
                WHERE site = $1 AND hour >= $2 AND hour <= $3 GROUP BY name, value""",
            site,
            from_ms // HOUR_MS,
            (to_ms - 1) // HOUR_MS,
        )
        counted: dict[str, Counter[str]] = {name.value: Counter() for name in CounterName}
        for name, value, count in rows:
            # A newer release may count what this one does not know.
            counted.setdefault(name, Counter())[value] = int(count)
        return HealthCounts(
            tokens=await self._count_passed(site, TimeRange(from_ms, tokens_to_ms)) if tokens_to_ms > from_ms else 0,
            server_checks=counted[CounterName.SERVER_CHECK].total(),
            siteverify_success=counted[CounterName.SITEVERIFY_SUCCESS].total(),
            siteverify_failures=counted[CounterName.SITEVERIFY_FAILURE],
            refused_origins=counted[CounterName.ORIGIN_REFUSED],
            unknown_hosts=counted[CounterName.HOST_UNKNOWN],
            unknown_secrets=counted[CounterName.CREDENTIAL_UNKNOWN].total(),
            same_addresses=counted[CounterName.ADDRESS_SAME].total(),
            other_addresses=counted[CounterName.ADDRESS_OTHER].total(),
        )

    async def _count_passed(self, site: int, span: TimeRange) -> int:
        # Every challenge that is passed gives out a token.
        hours = await self._counts.list_hours(site, span)
        return sum(counts.challenges_passed for counts in hours.values())


class SiteStores(
    AccountStores,
    CredentialStores,
    FleetStores,
    RuleStores,
    ListStores,
    NetworkListStores,
    TokenIssuerStores,
    Protocol,
):
    """The repositories that a unit of work on sites uses, and those that the directory reads."""

    sites: SiteStore
    directory: DirectoryStore
