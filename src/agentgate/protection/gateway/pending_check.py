"""A request on its way through the check, with all that was found out about it: before deciding, and after."""

from msgspec import Struct

from agentgate.protection.decision.engine import Decision
from agentgate.protection.gateway.header_fingerprints import Glimpse
from agentgate.protection.gateway.original_request import Original
from agentgate.protection.gateway.receipts import Shown
from agentgate.protection.gateway.route_protection import Protection
from agentgate.protection.signals.facts import Observation
from agentgate.protection.sites.directory import SiteView


class Approach(Struct, gc=False):
    """What was asked for, by whom and under which protection, while it is found out who signed."""

    site: SiteView
    original: Original
    protection: Protection
    shown: Shown
    glimpse: Glimpse
    visitor: int
    # By the stopwatch.
    started_ns: int
    # What the signals made of it without knowing who signed; None until that matters.
    observation: Observation | None = None


class Visit(Struct, frozen=True, gc=False):
    """What was asked for, by whom, under which protection, and what the rules say about it."""

    site: SiteView
    original: Original
    protection: Protection
    shown: Shown
    glimpse: Glimpse
    visitor: int
    decision: Decision
