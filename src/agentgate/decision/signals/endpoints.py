"""The catalog of signal labels over HTTP, for authors of rules."""

from agentgate.http.call import Call
from agentgate.lib.records import Record
from agentgate.sites.rules.labels import LABELS, SignalLabel


class SignalLabelList(Record, frozen=True, kw_only=True):
    """All labels of decisions."""

    items: tuple[SignalLabel, ...]


async def list_signal_labels(_call: Call) -> SignalLabelList:
    """List the labels by source. A name that ends in `.*` is a family with a variable last part."""
    return SignalLabelList(items=LABELS)
