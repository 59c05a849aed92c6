"""Bodies of siteverify that differ from one before in token and `requestId` only: they are cut, and not decoded again.

A site's server writes every body in the same way: the same members in the same order, the same action and origin.
"""

import re
from collections.abc import Callable
from typing import Any

from msgspec import UNSET, Struct, structs

from agentgate.lib.errors import Refused
from agentgate.protection.tokens.records import REQUEST_ID_PATTERN, SiteverifyInput
from agentgate.protection.tokens.redeem import Demand
from agentgate.protection.tokens.siteverify import read_demand

# Callers that are remembered; then all are forgotten.
MOST_CALLERS = 1_024
# To learn a body takes as long as to decode several, so that a caller who writes each in another way is not followed.
LEARNT_EVERY = 16

_is_request_id = re.compile(REQUEST_ID_PATTERN.encode("ascii")).match
# Put in the places of both to see whether they are the places.
_PROBE_TOKEN, _PROBE_ID = "probe-token", "probe-id"


class KnownBody(Struct, frozen=True):
    """What stands before the token, between it and the request ID, and after that; and what all such bodies demand."""

    before: bytes
    between: bytes
    after: bytes
    demand: Demand

    def cut(self, body: bytes) -> tuple[bytes, str] | None:
        """Return the token and the request ID; None when it is another body.

        Nobody has looked at the token: where it is none of ours, it may be no token at all, and the body another one.
        """
        between, start = self.between, len(self.before)
        end = body.find(between, start)
        if end < 0 or not body.startswith(self.before) or not body.endswith(self.after):
            return None
        request_id = body[end + len(between) : -len(self.after)]
        return None if _is_request_id(request_id) is None else (body[start:end], request_id.decode("ascii"))


class KnownBodies:
    """The last body of each caller that could be learnt."""

    def __init__(self, decode: Callable[[bytes], Any]) -> None:
        self._decode = decode
        self._by_caller: dict[str, KnownBody] = {}
        self._unknown = 0

    def find(self, credential_id: str) -> KnownBody | None:
        """Return what bodies of this caller look like, if that is known."""
        return self._by_caller.get(credential_id)

    def learn(self, credential_id: str, body: bytes, given: SiteverifyInput) -> None:
        """Remember what the body of a good call looks like, now and then."""
        self._unknown += 1
        if self._unknown % LEARNT_EVERY:
            return
        known = self._known(body, given)
        if known is not None:
            if len(self._by_caller) >= MOST_CALLERS:
                self._by_caller.clear()
            self._by_caller[credential_id] = known

    def _known(self, body: bytes, given: SiteverifyInput) -> KnownBody | None:
        # An address or a digest is another one in the next call.
        if given.request_id is UNSET or given.remote_address is not UNSET or given.content_digest is not UNSET:
            return None
        if not given.token:
            # It stands everywhere.
            return None
        before, _, rest = body.partition(given.token.encode())
        between, found, after = rest.partition(given.request_id.encode("ascii"))
        # They may stand elsewhere too, as an action that is named like the request.
        probe = before + _PROBE_TOKEN.encode() + between + _PROBE_ID.encode() + after
        try:
            is_right = self._decode(probe) == structs.replace(given, token=_PROBE_TOKEN, request_id=_PROBE_ID)
        except Refused:
            return None
        if not found or not is_right:
            return None
        # Of the demand nothing is kept that was this call's own.
        return KnownBody(before, between, after, structs.replace(read_demand(given), token="", request_id=None))
