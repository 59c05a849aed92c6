"""The service's published keys, kept for their lifetime and a while longer if the service is unavailable."""

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from agentgate_client.connections import Connections, Unreachable
from agentgate_client.receipts import read_key

PATH = "/.well-known/agentgate-keys.json"
FETCH_S = 2.0
# However many unknown keys are named, and however often the service fails: one fetch a minute.
LEAST_BETWEEN_S = 60.0
DEFAULT_LIFE_S = 300.0
LONGEST_LIFE_S = 86_400.0
# A withdrawn key must not be valid forever for a client that cannot reach the service.
STALE_S = 86_400.0

_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=(\d{1,9})", re.IGNORECASE)

Keys = Mapping[str, Ed25519PublicKey]


class KeySource(Protocol):
    """Keys by their ID."""

    def find(self, key_id: str) -> Ed25519PublicKey | None:
        """Return a key; None when it is not among the published ones."""

    @property
    def is_known(self) -> bool:
        """Whether there are keys at all, and none too old."""

    def refresh(self) -> bool:
        """Fetch the keys if that is due and possible; return whether there are any."""

    def refresh_soon(self) -> None:
        """Fetch the keys in the background if they are due."""


class GivenKeys:
    """A key set that was handed in, such as from a file. It never changes."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._keys = read_keys(document)
        if not self._keys:
            raise ValueError("the key set holds no Ed25519 key whose kid is its thumbprint")

    is_known = True

    def find(self, key_id: str) -> Ed25519PublicKey | None:
        """Return a key; None when it is not in the set."""
        return self._keys.get(key_id)

    def refresh(self) -> bool:
        """Say that there are keys."""
        return True

    def refresh_soon(self) -> None:
        """Do nothing: there is nowhere to fetch from."""


class FetchedKeys:
    """The key set of a service, fetched when needed. Thread-safe; one thread fetches, the others continue."""

    def __init__(self, base_url: str, *, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._connections = Connections(base_url)
        self._monotonic_s = monotonic_s
        self._keys: Keys = {}
        self._fetched_s = float("-inf")
        self._due_s = float("-inf")
        self._tried_s = float("-inf")
        self._fetching = threading.Lock()

    @property
    def is_known(self) -> bool:
        """Whether the keys were fetched, and not too long ago."""
        return self._monotonic_s() < self._fetched_s + STALE_S

    def find(self, key_id: str) -> Ed25519PublicKey | None:
        """Return a key, after a fetch when the keys are due or do not have this one."""
        if key_id not in self._keys or self._monotonic_s() >= self._due_s:
            self.refresh()
        return self._keys.get(key_id) if self.is_known else None

    def refresh(self) -> bool:
        """Fetch the keys unless that was tried within a minute; return whether there are any."""
        if self._fetching.acquire(blocking=False):
            try:
                if self._monotonic_s() >= self._tried_s + LEAST_BETWEEN_S:
                    self._tried_s = self._monotonic_s()
                    self._fetch()
            finally:
                self._fetching.release()
        return self.is_known

    def refresh_soon(self) -> None:
        """Fetch the keys in the background if they are due, so that they are cached when the service is unavailable."""
        now_s = self._monotonic_s()
        if now_s >= self._due_s and now_s >= self._tried_s + LEAST_BETWEEN_S:
            threading.Thread(target=self.refresh, name="agentgate-keys", daemon=True).start()

    def _fetch(self) -> None:
        try:
            answer = self._connections.request("GET", PATH, deadline_s=time.monotonic() + FETCH_S)
            document = json.loads(answer.body)
        except (Unreachable, ValueError):
            return
        finally:
            self._connections.close()
        keys = read_keys(document) if answer.status == 200 else {}
        if not keys:
            # A response without keys does not replace the key set.
            return
        now_s = self._monotonic_s()
        self._keys, self._fetched_s = keys, now_s
        self._due_s = now_s + _life_s(answer.headers.get("cache-control", ""))


def read_keys(document: Any) -> Keys:
    """Return the usable keys of a JSON Web Key Set."""
    members = document.get("keys") if isinstance(document, Mapping) else None
    return dict(pair for key in (members if isinstance(members, list) else []) if (pair := read_key(key)))


def _life_s(cache_control: str) -> float:
    found = _MAX_AGE.search(cache_control)
    return min(float(found[1]), LONGEST_LIFE_S) if found else DEFAULT_LIFE_S
