"""What the gate knows of whoever asks: `agentgate doctor` holds it against what is true."""

from ipaddress import ip_address

import msgspec

from agentgate.http.replies import Reply, Text
from agentgate.lib.records import Record
from agentgate.lib.visitor_ids import write_visitor
from agentgate.protection.challenge_page.proxied_call import Asking


class SeenRequest(Record, frozen=True, kw_only=True):
    """The asker's own request, as the adapter described it. It says nothing that the asker's token would not say."""

    origin: str
    # The pseudonym of the address at this site. When all have the same, the adapter sends one address for all.
    visitor: str
    # `public`, `private` or `loopback`.
    network: str
    # The service's clock.
    time_ms: int


def tell_seen(asking: Asking) -> Reply[Text]:
    """Tell the asker how its request was described."""
    seen = SeenRequest(
        origin=asking.original.origin,
        visitor=write_visitor(asking.visitor),
        network=_network_of(asking.original.address),
        time_ms=int(asking.call.now),
    )
    return Reply(body=Text(msgspec.json.encode(seen), "application/json"), status=200)


def _network_of(address: str) -> str:
    try:
        found = ip_address(address)
    except ValueError:
        return "public"
    if found.is_loopback:
        return "loopback"
    return "public" if found.is_global else "private"
