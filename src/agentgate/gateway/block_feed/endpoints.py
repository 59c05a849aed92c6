"""The feed for a site's firewall, with the paths and fields of CrowdSec's local API, which its bouncers read."""

import re
from collections.abc import Mapping

from agentgate.gateway.block_feed.feed import BlockFeed, ListedAddress
from agentgate.http.bearer_secret import bearer_secret_of
from agentgate.http.call import Call
from agentgate.http.replies import Text
from agentgate.lib.clock import SECOND_MS
from agentgate.lib.errors import Refused
from agentgate.lib.records import Record, to_json
from agentgate.sites.directory import SiteDirectory

ORIGIN = "agentgate"
# A part of a client's address that CrowdSec's bouncers send; other parameters filter by what all decisions share.
_ADDRESS = re.compile(r"[0-9a-fA-F.:]{2,45}\Z")


class FirewallDecision(Record, frozen=True, kw_only=True):
    """An address that a firewall may drop for `duration`. `scenario` is the reason."""

    id: int
    origin: str = ORIGIN
    type: str = "ban"
    scope: str = "Ip"
    value: str
    duration: str
    scenario: str


class FirewallDecisions(Record, frozen=True, kw_only=True):
    """All addresses at present, and addresses that firewalls must not drop any more."""

    new: list[FirewallDecision]
    deleted: list[FirewallDecision]


async def list_decisions(call: Call, feed: BlockFeed, sites: SiteDirectory) -> Text:
    """List the addresses of the site's feed, or with `ip` one of them; null if there are none.

    The credential is a backend secret of the site in `X-Api-Key` or in `Authorization: Bearer`.
    """
    wanted = call.request.query().get("ip")
    if wanted is not None and not _ADDRESS.match(wanted):
        raise Refused("invalid_request")
    shown, _ = await _read(call, feed, sites)
    found = _decisions({address: each for address, each in shown.items() if wanted in {None, address}}, call.now)
    return Text(to_json(found or None), "application/json")


async def stream_decisions(call: Call, feed: BlockFeed, sites: SiteDirectory) -> FirewallDecisions:
    """List the addresses of the site's feed, and the addresses that were removed from it.

    Every response is complete, so `startup` has no effect and AgentGate knows nothing of its readers.
    """
    shown, spared = await _read(call, feed, sites)
    return FirewallDecisions(new=_decisions(shown, call.now), deleted=_decisions(spared, call.now))


async def _read(
    call: Call, feed: BlockFeed, sites: SiteDirectory
) -> tuple[Mapping[str, ListedAddress], Mapping[str, ListedAddress]]:
    secret = call.request.header("x-api-key") or bearer_secret_of(call.request)
    await sites.await_refresh()
    caller = sites.find_caller(secret.encode("latin-1"), now_ms=call.now) if secret else None
    if caller is None:
        raise Refused("invalid_credential")
    if not caller.site.block_feed:
        raise Refused("not_found")
    return await feed.read(caller.site.number)


def _decisions(addresses: Mapping[str, ListedAddress], now_ms: int) -> list[FirewallDecision]:
    return [
        FirewallDecision(
            id=number,
            value=address,
            duration=f"{max(1, (each.until_ms - now_ms) // SECOND_MS)}s",
            scenario=f"{ORIGIN}/{each.reason}",
        )
        for number, (address, each) in enumerate(sorted(addresses.items()), 1)
    ]
