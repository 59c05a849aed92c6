"""Visitor: an address at one site, with its pseudonym, its rate windows and the clearance that it showed last."""

from hashlib import blake2b

from agentgate.protection.decision.visitor import Visitors
from agentgate.protection.gateway.original_request import read_address
from agentgate.protection.gateway.receipts import Receipts, Shown, cookie_of
from agentgate.protection.gateway.site_snapshot import SiteSnapshot
from agentgate.protection.signals.detectors.address import find_address
from agentgate.protection.signals.rates import Counted
from agentgate.protection.threat_data.intel import Intel


class Visitor(Counted):
    """An address at one site. `Counted` holds its rate windows."""

    __slots__ = ("address", "clearance", "cookies", "counted", "labels", "number", "origin", "shown", "until_ms")

    def __init__(self, site: int, number: int, address: str, labels: tuple[str, ...]) -> None:
        super().__init__(site, number, address)
        self.number = number
        # In its one spelling.
        self.address = address
        self.labels = labels
        # The `Cookie` header that was read last, the clearance in it, for which origin, what it showed and until when.
        self.cookies = b""
        self.clearance: bytes | None = None
        self.origin = ""
        self.shown: Shown | None = None
        self.until_ms = 0
        # What a request with these cookies counts as: the clearance, where it is good, else the address.
        self.counted: Counted = self

    def read_cookies(self, cookies: bytes, site: SiteSnapshot, origin: str, receipts: Receipts, now_ms: int) -> None:
        """Find the clearance in a `Cookie` header, verify it unless that was done, and note what it is good for."""
        clearance = cookie_of(cookies, site.cookie_name)
        if clearance != self.clearance or origin != self.origin or now_ms >= self.until_ms:
            self.shown, self.until_ms = receipts.clearance(
                clearance, site_key=site.view.site_key, origin=origin, visitor=self.number, now_ms=now_ms
            )
            is_good = clearance is not None and self.shown is not None and self.shown.reason is None
            self.counted = _count_clearance(site.view.number, clearance) if is_good and clearance is not None else self
        self.cookies, self.clearance, self.origin = cookies, clearance, origin


def _count_clearance(site: int, clearance: bytes) -> Counted:
    return Counted(site, int.from_bytes(blake2b(clearance, digest_size=8).digest()), None)


def read_visitor(site: SiteSnapshot, text: bytes | None, visitors: Visitors, intel: Intel) -> Visitor:
    """Return who has an address."""
    address = read_address(text or b"")
    number = visitors.find(site.view.site_key, address)
    return Visitor(site.view.number, number, address, find_address(address, intel).labels)
