"""Reading the trail of a site."""

from typing import Annotated

from msgspec import Meta

from agentgate.audit.ports import AuditStores
from agentgate.audit.records import ConfigChangeList
from agentgate.core.database import Store
from agentgate.core.records import Query
from agentgate.limits import CHANGES_LIMIT
from agentgate.web.call import SiteCall


class ChangesQuery(Query, frozen=True, kw_only=True):
    """How much of the trail to show."""

    limit: Annotated[int, Meta(ge=CHANGES_LIMIT.least, le=CHANGES_LIMIT.most)] = CHANGES_LIMIT.default


async def list_site_changes(call: SiteCall, query: ChangesQuery, store: Store[AuditStores]) -> ConfigChangeList:
    """List the changes made to a site, newest first."""
    return ConfigChangeList(items=await store.read.audit.list_site_changes(call.site_id, query.limit))
