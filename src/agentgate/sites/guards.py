"""Scopes: from a site key in the path or the query to a site that the caller may see."""

from dataclasses import fields
from typing import Any

from agentgate.http.call import Call, SiteCall
from agentgate.http.guards import declares
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.sites.records import Site
from agentgate.sites.repository import SiteStores


@declares(refuses=("site_not_found",))
async def site_in_path(call: Call, store: Store[SiteStores]) -> SiteCall:
    """Find the site that the path names. Malformed, unknown and another account's all give the same error."""
    site = await store.read.sites.get_site(call.params["siteKey"], account_id=call.actor.account_id)
    return site_call(call, site)


@declares(refuses=("site_not_found",))
async def site_in_query(call: Call, store: Store[SiteStores]) -> SiteCall:
    """Find the site that `siteKey` in the query names; the route's query type has already checked its form."""
    site = await store.read.sites.get_site(call.request.query()["siteKey"], account_id=call.actor.account_id)
    return site_call(call, site)


@declares(refuses=("site_not_found",))
async def site_by_id_or_key(call: Call, store: Store[SiteStores]) -> SiteCall:
    """Find the site that the path names by its ID or its key, for operators."""
    name = call.params["site"]
    site = await store.read.sites.find_site(name, account_id=call.actor.account_id)
    if site is None and call.actor.account_id is None:
        listed = await store.read.sites.find_listed(name, now_ms=call.now)
        site = listed.site if listed else None
    if site is None:
        raise Refused("site_not_found")
    return site_call(call, site)


def site_call(call: Call, site: Site) -> SiteCall:
    call.log["site"] = site.site_key
    known: dict[str, Any] = {field.name: getattr(call, field.name) for field in fields(Call)}
    return SiteCall(**known, site_id=site.id, site_key=site.site_key, account_id=site.customer_id)
