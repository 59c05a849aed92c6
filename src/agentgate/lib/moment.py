"""Moment: a point in time that is an integer inside and RFC 3339 text on the wire."""

import re
from datetime import UTC, datetime

from agentgate.lib.clock import to_rfc3339

LATEST_MS = 253_402_300_799_999  # the last millisecond of the year 9999, which is all that RFC 3339 can write

# From Python 3.14 on, `datetime` takes 24:00 for the midnight after a day. RFC 3339 has no such hour.
_RFC3339 = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt]([01]\d|2[0-3]):(\d{2}):(\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:[0-5]\d)\Z", re.ASCII
)


class Moment(int):
    """Milliseconds since 1970 in UTC. Compares and adds like the integer it is."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> "Moment":
        """Read RFC 3339 text; raise ValueError on anything else."""
        match = _RFC3339.match(text)
        if match is None:
            raise ValueError("expected a date and time such as 2026-01-31T09:30:00Z")
        *fields, fraction, zone = match.groups()
        whole = datetime.fromisoformat("{}-{}-{}T{}:{}:{}".format(*fields) + ("+00:00" if zone in "Zz" else zone))
        millis = int((fraction or "").ljust(3, "0")[:3])
        try:
            seconds = int(whole.astimezone(UTC).timestamp())
        except OverflowError:
            raise ValueError("expected a time within the years 1 to 9999 in UTC") from None
        return cls(seconds * 1000 + millis)

    def text(self) -> str:
        """Return the RFC 3339 form."""
        return to_rfc3339(self)
