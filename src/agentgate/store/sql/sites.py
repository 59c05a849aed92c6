"""Sites in SQL."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from agentgate.core.clock import DAY_MS, HOUR_MS
from agentgate.core.database import Row, Session, Transaction
from agentgate.core.enums import Mode, Outcome, WidgetMode
from agentgate.core.moment import Moment
from agentgate.core.records import optional, to_json
from agentgate.sites.ports import ListedSite, SiteActivity
from agentgate.sites.records import CredentialCounts, Site, SiteAction, SiteRoute

_COLUMNS = """site.id, site.account_id, site.site_key, site.name, site.allowed_origins, site.mode, site.widget_mode,
    site.actions, site.routes, site.created_ms, site.updated_ms, site.agent_policy"""
_LISTED = f"""SELECT {_COLUMNS}, account.name,
        (SELECT count(*) FROM credential WHERE credential.site_id = site.id AND revoked_ms IS NULL
            AND (expires_ms IS NULL OR expires_ms > $1)),
        (SELECT count(*) FROM credential WHERE credential.site_id = site.id)
    FROM site JOIN account ON account.id = site.account_id"""  # noqa: S608 - the parts are constants


class SqlSites:
    """Implements SiteStore."""

    def __init__(self, session: Transaction) -> None:
        self._session = session

    async def add_site(self, site: Site) -> bool:
        """Keep a new site; False when its key exists already."""
        # Numbers are given one after the other, and two sites must not get the same, not even one that is purged.
        await self._session.lock("site-number")
        added = await self._session.run(
            """INSERT INTO site (id, number, site_key, account_id, name, mode, widget_mode, allowed_origins, actions,
                    routes, created_ms, updated_ms)
                SELECT $1, 1 + coalesce(
                        (SELECT max(number) FROM site WHERE number > (SELECT max(last) FROM site_number)),
                        (SELECT max(last) FROM site_number)
                    ), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11
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
        )
        return added == 1

    async def find_site(self, site_key: str, *, account_id: str | None) -> Site | None:
        """Return a site; None when there is none, or when it is not of the given account."""
        row = await self._session.one(
            f"SELECT {_COLUMNS} FROM site WHERE site_key = $1",  # noqa: S608
            site_key,
        )
        if row is None or account_id not in {None, row[1]}:
            return None
        return _site(row)

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
                    actions = $7, routes = $8, updated_ms = $9
                WHERE id = $1""",
            site.id,
            site.customer_id,
            site.name,
            site.mode.value,
            site.widget_mode.value,
            *_documents(site),
            site.updated_at,
        )

    async def lock_site(self, site_id: str) -> None:
        """Keep other units of work from changing the site until this one is done."""
        await self._session.lock("site", site_id)


class SqlActivity:
    """Implements ActivityStore over the hourly counters, which lie in another database than the sites."""

    def __init__(self, config: Session, stats: Session) -> None:
        self._config = config
        self._stats = stats

    async def list_activity(self, site_ids: Sequence[str], *, now_ms: int) -> dict[str, SiteActivity]:
        """Return the activity of those sites that had any."""
        numbers: dict[int, str] = dict(await self._numbers(site_ids))
        today = now_ms - now_ms % DAY_MS
        # Which of a set of numbers is meant differs between dialects; the few rows of sites not asked for are dropped.
        rows = await self._stats.all(
            """SELECT site, max(last_event_ms),
                    sum(CASE WHEN hour >= $1 THEN allowed ELSE 0 END),
                    sum(CASE WHEN hour >= $1 THEN challenged ELSE 0 END),
                    sum(CASE WHEN hour >= $1 THEN blocked ELSE 0 END),
                    sum(CASE WHEN hour >= $1 THEN dropped ELSE 0 END),
                    sum(CASE WHEN hour >= $1 THEN would_challenge + would_block + would_drop ELSE 0 END)
                FROM site_hour WHERE site >= $2 AND site <= $3 GROUP BY site""",
            today // HOUR_MS,
            min(numbers, default=0),
            max(numbers, default=0),
        )
        keys = (*(outcome.value for outcome in Outcome), "monitored")
        return {
            numbers[site]: SiteActivity(
                today=dict(zip(keys, map(int, counts), strict=True)),
                last_event_at=Moment(last_event_ms) if last_event_ms else None,
            )
            for site, last_event_ms, *counts in rows
            if site in numbers
        }

    async def forget_sites(self, account_id: str) -> None:
        """Forget the activity of all sites of an account."""
        numbers = await self._config.all("SELECT number FROM site WHERE account_id = $1", account_id)
        await self._stats.run_many("DELETE FROM site_hour WHERE site = $1", numbers)

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
        site=_site(tuple(site)),
        customer_name=customer_name,
        credentials=CredentialCounts(active=active, total=total),
    )


def _site(row: Row) -> Site:
    site_id, account_id, key, name, origins, mode, widget_mode, actions, routes, created_ms, updated_ms, policy = row
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
        agent_policy=optional(json.loads(policy) if policy else None),
    )
