"""NameLookup: the names of an address and the addresses of a name, asked of DNS servers over UDP without a thread.

The library's own look-ups take a thread each for as long as a server likes; these give a server less than a second.
"""

from ipaddress import ip_address
from pathlib import Path

import dns.asyncbackend
import dns.asyncquery
import dns.exception
import dns.message
import dns.rcode
import dns.rdatatype
import dns.resolver

RESOLV_CONF = Path("/etc/resolv.conf")
DNS_PORT = 53
# Twice for each server: sometimes a packet is lost.
TRY_S = 0.8
ROUNDS = 2
# A size that passes every network in one piece; announced to the server, so that responses are not truncated at 512.
ANSWER_BYTES = 1232
MOST_RECORDS = 64

Server = tuple[str, int]


class LookupFailed(Exception):  # noqa: N818 - says what happened
    """No server sent a usable response."""


class NameLookup:
    """Asks the servers one after the other, and all of them once more."""

    def __init__(self, servers: tuple[Server, ...]) -> None:
        self._servers = servers

    async def names_of(self, address: str) -> tuple[str, ...]:
        """Return the names that an address's owner gave it, in lower case; none when there are none."""
        found = await self._ask(ip_address(address).reverse_pointer, dns.rdatatype.PTR)
        return tuple(name.rstrip(".").lower() for name in found)

    async def addresses_of(self, name: str, version: int) -> tuple[str, ...]:
        return await self._ask(name, dns.rdatatype.A if version == 4 else dns.rdatatype.AAAA)

    async def _ask(self, name: str, kind: dns.rdatatype.RdataType) -> tuple[str, ...]:
        # The library would ask for the root, and turn letters into others.
        if not name or not name.isascii():
            raise LookupFailed(f"{name[:80]!r} is not a host name")
        for server in self._servers * ROUNDS:
            try:
                return await _exchange(server, name, kind)
            except (OSError, LookupFailed, dns.exception.DNSException):
                # The next server may know.
                continue
        raise LookupFailed(f"no DNS server responded for {name}")


def system_servers(path: Path = RESOLV_CONF) -> tuple[Server, ...]:
    """Return the DNS servers that the machine is set to use."""
    try:
        return tuple((str(server), DNS_PORT) for server in dns.resolver.Resolver(str(path)).nameservers)
    except dns.resolver.NoResolverConfiguration:
        return ()


async def _exchange(server: Server, name: str, kind: dns.rdatatype.RdataType) -> tuple[str, ...]:
    # Each question has a separate socket and number: a forger of responses must guess both.
    question = dns.message.make_query(name, kind, use_edns=0, payload=ANSWER_BYTES)
    host, port = server
    answer = await dns.asyncquery.udp(
        question,
        host,
        timeout=TRY_S,
        port=port,
        # Other datagrams are not worth giving up for.
        ignore_unexpected=True,
        ignore_errors=True,
        raise_on_truncation=True,
        backend=dns.asyncbackend.get_backend("asyncio"),
    )
    if answer.rcode() == dns.rcode.NXDOMAIN:
        return ()
    if answer.rcode() != dns.rcode.NOERROR:
        raise LookupFailed("the DNS response is an error")
    found = [record.to_text() for records in answer.answer if records.rdtype == kind for record in records]
    return tuple(found[:MOST_RECORDS])
