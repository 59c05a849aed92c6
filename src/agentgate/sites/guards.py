"""Scopes: from a site key in the path to a site that the caller may see."""

from dataclasses import fields
from typing import Any

from agentgate.core.database import Store
from agentgate.errors import Refused
from agentgate.sites.ports import SiteStores
from agentgate.sites.records import Site
from agentgate.web.call import Call, SiteCall
from agentgate.web.guards import stance


@stance(refuses=("site_not_found",))
async def site_in_path(call: Call, store: Store[SiteStores]) -> SiteCall:
    """Find the site that the path names. Malformed, unknown and another account's all answer alike."""
    site = await store.read.sites.find_site(call.params["siteKey"], account_id=call.actor.account_id)
    if site is None:
        raise Refused("site_not_found")
    return site_call(call, site)


def site_call(call: Call, site: Site) -> SiteCall:
    """Return the call with its site known."""
    call.log["site"] = site.site_key
    known: dict[str, Any] = {field.name: getattr(call, field.name) for field in fields(Call)}
    return SiteCall(**known, site_id=site.id, site_key=site.site_key, account_id=site.customer_id)
