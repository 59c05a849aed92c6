"""CountBuffer: counters of calls that leave no event, summed in memory until they are written. Its size is bounded."""

from agentgate.events.records import Count, CounterName

# Callers choose origins, so only so many of an hour are counted apart.
VALUES_PER_HOUR = 100
LONGEST_VALUE = 200
OTHER_VALUE = "other"
MOST_KEYS = 20_000

# Site, hour, name, value.
Key = tuple[int, int, CounterName, str]


class WaitingSum:
    """A count that has not been written yet. Callers may add to it unless it is 0: then it has been taken."""

    __slots__ = ("counted",)

    def __init__(self) -> None:
        self.counted = 0


class CountBuffer:
    """Counts by site, hour, name and value."""

    def __init__(self) -> None:
        self.lost = 0
        # A caller may add to the sum of an existing key directly; new keys go through `add`.
        self.sums: dict[Key, WaitingSum] = {}
        # Values that were counted, by site, hour and name; of the newest hour only.
        self._values: dict[tuple[int, CounterName], set[str]] = {}
        self._hour = 0

    def __bool__(self) -> bool:
        """Return whether any count has not been written yet."""
        return bool(self.sums)

    def add(self, key: Key, amount: int) -> WaitingSum:
        """Add to a sum and return it; when there are too many keys, add to the count of lost ones."""
        site, hour, name, value = key
        if value:
            key = (site, hour, name, self._admitted(site, hour, name, value))
        if key not in self.sums and len(self.sums) >= MOST_KEYS:
            self.lost += amount
            return WaitingSum()
        waiting = self.sums.setdefault(key, WaitingSum())
        waiting.counted += amount
        return waiting

    def take(self) -> list[Count]:
        sums, self.sums = self.sums, {}
        counts = [Count(*key, waiting.counted) for key, waiting in sums.items()]
        for waiting in sums.values():
            waiting.counted = 0
        return counts

    def put_back(self, counts: list[Count]) -> None:
        """Add counts again that could not be written."""
        for count in counts:
            self.add((count.site, count.hour, count.name, count.value), count.counted)

    def _admitted(self, site: int, hour: int, name: CounterName, value: str) -> str:
        if hour > self._hour:
            self._hour = hour
            self._values.clear()
        value = _storable(value[:LONGEST_VALUE])
        seen = self._values.setdefault((site, name), set())
        if value in seen:
            return value
        if len(seen) >= VALUES_PER_HOUR:
            return OTHER_VALUE
        seen.add(value)
        return value


def _storable(text: str) -> str:
    """Return text that every database takes: without NUL and lone surrogates."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")
