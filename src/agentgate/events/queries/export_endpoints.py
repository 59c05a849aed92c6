"""Taking decisions out as a file: the same filters, range and order as the list, in much larger pages."""

import time
from functools import partial
from typing import Annotated
from urllib.parse import urlencode

from msgspec import Meta

from agentgate.events.queries.export import TEXTS, WRITINGS, ExportFormat
from agentgate.events.queries.ports import SiteNumber, TrafficStore, TrafficStores
from agentgate.events.queries.queries import DecisionQuery, PageRange, cursor_scope, filters_of, read_page
from agentgate.http.call import SiteCall
from agentgate.http.replies import Reply, Text
from agentgate.lib.cursors import Cursors
from agentgate.lib.database import Store
from agentgate.lib.keyring import Keyring
from agentgate.lib.limits import Bounds
from agentgate.lib.tasks.off_loop import off_loop

EXPORT_LIMIT = Bounds(1, 10_000, default=10_000)
# Between two reads others have their turn.
DECISIONS_PER_READ = 500
# If a filter matches few of many decisions, the response has the matches found by then, and a cursor.
LONGEST_S = 5.0

__all__ = ["TEXTS", "export_decisions"]


class ExportQuery(DecisionQuery, frozen=True, kw_only=True):
    """Which decisions, in which format, and how many at a time."""

    format: ExportFormat = ExportFormat.NDJSON
    limit: Annotated[int, Meta(ge=EXPORT_LIMIT.least, le=EXPORT_LIMIT.most)] = EXPORT_LIMIT.default


async def export_decisions(
    call: SiteCall, query: ExportQuery, store: Store[TrafficStores], traffic: TrafficStore, keyring: Keyring
) -> Reply[Text]:
    """Export decisions as a file, newest first. Default: the last 24 hours.

    `format` is `ndjson` (one decision per line) or `csv` (with a row of column names, lists joined by spaces).
    The headers `X-Next-Cursor` and `Link: <...>; rel="next"` lead to the next part.
    """
    page = read_page(query, call, Cursors(keyring, call.route, call.site_id, *cursor_scope(query)))
    site = SiteNumber(call.site_id, await store.read.sites.find_number(call.site_id))
    content, more_before = await _write(traffic, site, page, query)
    writing = WRITINGS[query.format]
    name = f"decisions-{call.site_key}.{query.format}"
    headers = (("content-disposition", f'attachment; filename="{name}"'), *_next_headers(call, page, more_before))
    return Reply(body=Text(content, writing.media_type), headers=headers)


async def _write(
    traffic: TrafficStore, site: SiteNumber, page: PageRange, query: ExportQuery
) -> tuple[bytes, int | None]:
    """Return the file, and the ID below which there may be more."""
    writing, filters = WRITINGS[query.format], filters_of(query)
    content = bytearray(writing.head)
    before, left = page.before, query.limit
    ends = time.monotonic() + LONGEST_S
    while True:
        limit = min(left, DECISIONS_PER_READ)
        found = await traffic.decisions.list_decisions(site, page.span, filters, before=before, limit=limit)
        content += await off_loop(len(found.items), partial(writing.write, found.items))
        before, left = found.more_before, left - len(found.items)
        if before is None or left == 0 or time.monotonic() > ends:
            return bytes(content), before


def _next_headers(call: SiteCall, page: PageRange, more_before: int | None) -> tuple[tuple[str, str], ...]:
    cursor = page.next_cursor(more_before)
    if not isinstance(cursor, str):
        return ()
    following = f"{call.request.path}?{urlencode({**call.request.query(), 'cursor': cursor})}"
    return (("x-next-cursor", cursor), ("link", f'<{following}>; rel="next"'))
