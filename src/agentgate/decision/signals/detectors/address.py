"""The address: which lists it is in, its network (ASN) and country where a table of them was imported."""

from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.decision.threat_data.intel import Intel
from agentgate.decision.threat_data.networks import (
    ALLOW,
    BLOCK,
    DATACENTER,
    OPERATOR_BITS,
    PRIVATE,
    TOR,
    VPN,
)
from agentgate.decision.threat_data.views import AddressView
from agentgate.lib.ip_address import read_address

LABEL_OF_FLAG = (
    (DATACENTER, "net.datacenter"),
    (TOR, "net.tor"),
    (VPN, "net.vpn"),
    (PRIVATE, "net.private"),
    (ALLOW, "list.allow"),
    (BLOCK, "list.block"),
)

# Most addresses, while no tables are imported.
NOTHING_KNOWN = AddressView(())


def address_labels(request: SignalInput) -> Labels:
    """Return `net.*` and `list.*`."""
    return view_address(request.facts.address, request.intel).labels


def view_address(address: str, intel: Intel) -> AddressView:
    """Understand an address, once."""
    view = intel.addresses.get(address)
    return view if view is not None else intel.addresses.put(address, find_address(address, intel))


def find_address(text: str, intel: Intel) -> AddressView:
    """Look up an address in every table."""
    address = read_address(text)
    if address is None:
        return AddressView(("net.unknown",))
    flags = 0
    for table in intel.flags:
        flags |= table.find(address)
    if not flags and intel.asn is None and intel.country is None:
        return NOTHING_KNOWN
    labels = [label for flag, label in LABEL_OF_FLAG if flags & flag]
    if intel.asn is not None:
        number = intel.asn.find(address)
        if number:
            labels.append(f"net.asn.{number}")
    if intel.country is not None:
        code = intel.country.find(address)
        if code:
            labels.append(f"net.country.{country_text(code)}")
    return AddressView(tuple(labels), flags & OPERATOR_BITS)


def country_text(code: int) -> str:
    """Return the two letters of a country's number."""
    return chr(code >> 8 & 0x7F) + chr(code & 0x7F)
