"""Sites in SQL."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from agentgate.events.storage.days.days import EventDays
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.database import LockingRepository, Reader, Row, SqlSession
from agentgate.lib.enums import Mode, Outcome, TokenBinding, WidgetMode
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional, to_json
from agentgate.protection.sites.records import (
    CredentialCounts,
    Site,
    SiteAction,
    SiteOpenPath,
    SiteRoute,
    SiteTokenIssuer,
)


class ListedSite(Struct, frozen=True, kw_only=True):
    """A site with what a list shows beside it."""

    site: Site
    customer_name: str
    credentials: CredentialCounts


class SiteActivity(Struct, frozen=True, kw_only=True):
    """What was seen of a site: outcomes since midnight UTC, and when an event last arrived."""

    today: dict[str, int]
    last_event_at: Moment | None


SITE_COLUMNS = """site.id, site.account_id, site.site_key, site.name, site.allowed_origins, site.mode, site.widget_mode,
    site.actions, site.routes, site.created_ms, site.updated_ms, site.agent_policy, site.form_method_override,
    site.clearance_without_script, site.whole_site, site.open_paths, site.wanted_programs,
    site.token_binding, site.private_token_issuers"""
_LISTED = f"""SELECT {SITE_COLUMNS}, account.name,
        (SELECT count(*) FROM credential WHERE credential.site_id = site.id AND revoked_ms IS NULL
            AND (expires_ms IS NULL OR expires_ms > $1)),
        (SELECT count(*) FROM credential WHERE credential.site_id = site.id)
    FROM site JOIN account ON account.id = site.account_id"""  # noqa: S608 - the parts are constants

_ACTIVITY = """SELECT site, max(last_event_ms),
        sum(CASE WHEN hour >= $1 THEN allowed ELSE 0 END),
        sum(CASE WHEN hour >= $1 THEN challenged ELSE 0 END),
        sum(CASE WHEN hour >= $1 THEN blocked ELSE 0 END),
        sum(CASE WHEN hour >= $1 THEN dropped ELSE 0 END),
        sum(CASE WHEN hour >= $1 THEN would_challenge + would_block + would_drop ELSE 0 END)
    FROM site_hour WHERE site >= $2 AND site <= $3 GROUP BY site"""
# Days outlive their hours.
_LAST_DAY = """SELECT site, max(last_event_ms), 0, 0, 0, 0, 0
    FROM site_day WHERE site >= $1 AND site <= $2 GROUP BY site"""


# Removes everything that was recorded about the site of a number.
ForgetSite = Callable[[int], Awaitable[None]]


class SiteStore(LockingRepository):
    """The sites of all accounts."""

    async def add_site(self, site: Site) -> bool:
        """Keep a new site; False when its key exists already."""
        # Numbers are given one after the other, and two sites must not get the same, not even one that is purged.
        await self._session.lock("site-number")
        added = await self._session.run(
            """INSERT INTO site (id, number, site_key, account_id, name, mode, widget_mode, allowed_origins, actions,
                    routes, created_ms, updated_ms, form_method_override,
                    clearance_without_script, whole_site, open_paths, wanted_programs, token_binding,
                    private_token_issuers)
                SELECT $1, 1 + coalesce(
                        (SELECT max(number) FROM site WHERE number > (SELECT max(last) FROM site_number)),
                        (SELECT max(last) FROM site_number)
                    ), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18
                WHERE NOT EXISTS (SELECT 1 FROM site WHERE site_key = $2)""",
            site.id,
            site.site_key,
            site.customer_id,
            site.name,
            site.mode.value,
            site.widget_mode.value,
            *_documents(site),
            site.created_at,
            site.updated_at,
            int(site.form_method_override),
            int(site.clearance_without_script),
            int(site.whole_site),
            to_json(site.open_paths).decode(),
            to_json(site.wanted_programs).decode(),
            site.token_binding.value,
            to_json(site.private_token_issuers).decode(),
        )
        return added == 1

    async def find_site(self, site_key: str, *, account_id: str | None) -> Site | None:
        """Return a site; None when there is none, or when it is not of the given account."""
        row = await self._session.one(
            f"SELECT {SITE_COLUMNS} FROM site WHERE site_key = $1",  # noqa: S608
            site_key,
        )
        if row is None or account_id not in {None, row[1]}:
            return None
        return site_of(row)

    async def list_own_site_keys(self) -> list[str]:
        """Return the keys of the service's own sites, whether there is such a site or not."""
        rows = await self._session.all("SELECT site_key FROM service_site ORDER BY site_key")
        return [site_key for (site_key,) in rows]

    async def save_own_site_keys(self, site_keys: Sequence[str]) -> None:
        """Keep which sites are the service's own. Their accounts are protected from now on, and no others."""
        # Several workers start at once, and each of them says the same.
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

    async def list_sites(self, *, account_id: str | None, now_ms: int) -> list[ListedSite]:
        """Return the sites of an account, or all with None, newest first."""
        if account_id is None:
            rows = await self._session.all(f"{_LISTED} ORDER BY site.created_ms DESC, site.number DESC", now_ms)
        else:
            rows = await self._session.all(
                f"{_LISTED} WHERE site.account_id = $2 ORDER BY site.created_ms DESC, site.number DESC",
                now_ms,
                account_id,
            )
        return [_listed(row) for row in rows]

    async def find_listed(self, site_id: str, *, now_ms: int) -> ListedSite | None:
        """Return one site as a list shows it, or None."""
        row = await self._session.one(f"{_LISTED} WHERE site.id = $2", now_ms, site_id)
        return _listed(row) if row else None

    async def save_site(self, site: Site) -> None:
        """Keep a site's changed fields."""
        await self._session.run(
            """UPDATE site SET account_id = $2, name = $3, mode = $4, widget_mode = $5, allowed_origins = $6,
                    actions = $7, routes = $8, updated_ms = $9, form_method_override = $10,
                    clearance_without_script = $11, whole_site = $12, open_paths = $13, wanted_programs = $14,
                    token_binding = $15, private_token_issuers = $16
                WHERE id = $1""",
            site.id,
            site.customer_id,
            site.name,
            site.mode.value,
            site.widget_mode.value,
            *_documents(site),
            site.updated_at,
            int(site.form_method_override),
            int(site.clearance_without_script),
            int(site.whole_site),
            to_json(site.open_paths).decode(),
            to_json(site.wanted_programs).decode(),
            site.token_binding.value,
            to_json(site.private_token_issuers).decode(),
        )

    async def save_agent_policy(self, site_id: str, policy: Mapping[str, Any], now_ms: int) -> None:
        """Keep a site's agent policy."""
        text = to_json(policy).decode()
        await self._session.run(
            "UPDATE site SET agent_policy = $2, updated_ms = $3 WHERE id = $1", site_id, text, now_ms
        )

    async def lock_site(self, site_id: str) -> None:
        """Keep other units of work from changing the site until this one is done."""
        await self._session.lock("site", site_id)


class ActivityStore:
    """Counts of traffic, as far as sites show them. They lie in other databases than the sites."""

    def __init__(
        self,
        config: SqlSession,
        counted: Reader,
        *,
        forget_site: ForgetSite,
        hot: SqlSession | None = None,
        days: EventDays | None = None,
    ) -> None:
        """`counted` has `site_hour` and `site_day`; `days` those hours that are not there yet, where they lie apart."""
        self._config = config
        self._counted = counted
        self._forget_site = forget_site
        self._hot = hot
        self._days = days

    async def list_activity(self, site_ids: Sequence[str], *, now_ms: int) -> dict[str, SiteActivity]:
        """Return the activity of those sites that had any."""
        numbers: dict[int, str] = dict(await self._numbers(site_ids))
        bounds = (now_ms // DAY_MS * DAY_MS // HOUR_MS, min(numbers, default=0), max(numbers, default=0))
        found: dict[int, tuple[int, ...]] = {}
        for rows in await self._read_counts(now_ms // DAY_MS, bounds):
            for site, *counts in rows:
                last_ms, *sums = map(int, counts)
                last_before_ms, *sums_before = found.get(site, (0,) * len(counts))
                found[site] = (max(last_ms, last_before_ms), *map(sum, zip(sums, sums_before, strict=True)))
        keys = (*(outcome.value for outcome in Outcome), "monitored")
        # Which of a set of numbers is meant differs between dialects; the few rows of sites not asked for are dropped.
        return {
            numbers[site]: SiteActivity(
                today=dict(zip(keys, counts, strict=True)),
                last_event_at=Moment(last_event_ms) if last_event_ms else None,
            )
            for site, (last_event_ms, *counts) in found.items()
            if site in numbers
        }

    async def forget_sites(self, account_id: str) -> None:
        """Forget the activity of all sites of an account."""
        rows = await self._config.all("SELECT number, id FROM site WHERE account_id = $1", account_id)
        for number, site_id in rows:
            await self._forget_site(number)
            if self._hot is not None:
                await self._hot.run("DELETE FROM charge WHERE site_id = $1", site_id)
                await self._hot.run("DELETE FROM submission WHERE site_id = $1", site_id)

    async def _read_counts(self, today: int, bounds: tuple[int, int, int]) -> list[list[Row]]:
        """Return rows of a site, its last event and today's counts, from everywhere these lie."""
        found = [await self._counted.all(_ACTIVITY, *bounds), await self._counted.all(_LAST_DAY, *bounds[1:])]
        if self._days is not None:
            # Yesterday may not be closed yet; it counts for the last event only.
            found += [await self._days.session(day).all(_ACTIVITY, *bounds) for day in (today - 1, today)]
        return found

    async def _numbers(self, site_ids: Sequence[str]) -> list[Any]:
        if len(site_ids) == 1:
            return await self._config.all("SELECT number, id FROM site WHERE id = $1", site_ids[0])
        wanted = set(site_ids)
        rows = await self._config.all("SELECT number, id FROM site")
        return [row for row in rows if row[1] in wanted]


def _documents(site: Site) -> tuple[str, str, str]:
    return tuple(to_json(part).decode() for part in (site.allowed_origins, site.actions, site.routes))  # type: ignore[return-value]


def _listed(row: Row) -> ListedSite:
    *site, customer_name, active, total = row
    return ListedSite(
        site=site_of(tuple(site)),
        customer_name=customer_name,
        credentials=CredentialCounts(active=active, total=total),
    )


def site_of(row: Row) -> Site:
    """Return the site of a row of SITE_COLUMNS."""
    site_id, account_id, key, name, origins, mode, widget_mode, actions, routes, *rest = row
    created_ms, updated_ms, policy, form_method_override, clearance_without_script, whole_site, *lists = rest
    open_paths, wanted_programs, token_binding, issuers = lists
    return Site(
        id=site_id,
        customer_id=account_id,
        site_key=key,
        name=name,
        allowed_origins=json.loads(origins),
        mode=Mode(mode),
        widget_mode=WidgetMode(widget_mode),
        actions=msgspec.json.decode(actions, type=dict[str, SiteAction]),
        routes=msgspec.json.decode(routes, type=list[SiteRoute]),
        created_at=Moment(created_ms),
        updated_at=Moment(updated_ms),
        form_method_override=bool(form_method_override),
        clearance_without_script=bool(clearance_without_script),
        whole_site=bool(whole_site),
        open_paths=msgspec.json.decode(open_paths, type=list[SiteOpenPath]),
        wanted_programs=json.loads(wanted_programs),
        token_binding=TokenBinding(token_binding),
        private_token_issuers=msgspec.json.decode(issuers, type=list[SiteTokenIssuer]),
        agent_policy=optional(json.loads(policy) if policy else None),
    )
