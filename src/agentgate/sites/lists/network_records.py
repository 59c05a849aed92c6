"""Network lists as they go over the wire and as the store keeps them."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.http.outbound.client import URL_CHARACTERS
from agentgate.lib.enums import NetworkSource
from agentgate.lib.limits import (
    LIST_NOTE_CHARACTERS,
    LIST_REFRESH_MINUTES,
    LIST_VALUE_CHARACTERS,
    NETWORK_PAGE,
    NETWORKS_PER_CHANGE,
)
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Query, Record

_Minutes = Annotated[int, Meta(ge=LIST_REFRESH_MINUTES.least, le=LIST_REFRESH_MINUTES.most)]
_Texts = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=LIST_VALUE_CHARACTERS, examples=["203.0.113.0/24"])]],
    Meta(max_length=NETWORKS_PER_CHANGE),
]


class NetworkList(Record, frozen=True, kw_only=True):
    """A named list of networks, to which rules refer with `network_lists`.

    `problem` is the error of the last refresh, which does not change the networks. `skipped` counts
    networks that a list from outside contains and AgentGate does not use.
    """

    name: str
    source: NetworkSource
    note: str
    networks: int
    skipped: int
    problem: str
    # The rules of the site that name the list.
    rules: list[str]
    created_at: Moment
    created_by: str
    changed_at: Moment
    url: str | UnsetType = UNSET
    refresh_minutes: int | UnsetType = UNSET
    # Last attempt to read the source.
    checked_at: Moment | UnsetType = UNSET


class NetworkLists(Record, frozen=True, kw_only=True):
    """A site's network lists by name, and how many networks all lists may have."""

    items: list[NetworkList]
    networks: int
    most_networks: int


class NetworkListInput(Input, frozen=True, kw_only=True):
    """A new or changed network list.

    `own` lists have the networks that are added to them. `url` and `crowdsec` lists are read from `url` periodically.
    `key` is the bouncer key of CrowdSec. Omit it to keep the stored key; a new `url` needs it again.
    """

    refused_fields: ClassVar[dict[str, str]] = dict.fromkeys(("name", "networks"), "forbidden_field")

    source: NetworkSource
    note: Annotated[str, Meta(max_length=LIST_NOTE_CHARACTERS)] = ""
    url: Annotated[str, Meta(min_length=1, max_length=URL_CHARACTERS)] | UnsetType = UNSET
    key: Annotated[str, Meta(pattern=r"^[!-~]{1,256}\Z")] | UnsetType = UNSET
    refresh_minutes: _Minutes = LIST_REFRESH_MINUTES.default


class NetworkChange(Input, frozen=True, kw_only=True):
    """Networks to add to and to remove from an own list. `replace`: remove all others first."""

    add: _Texts = msgspec.field(default_factory=list)
    remove: _Texts = msgspec.field(default_factory=list)
    replace: bool = False


class NetworkPage(Record, frozen=True, kw_only=True):
    """Networks of a list, sorted by family and address."""

    items: list[str]
    next_cursor: str | UnsetType = UNSET


class NetworksQuery(Query, frozen=True, kw_only=True):
    """Which networks to list. `q`: an address or network that they share addresses with. Default: all."""

    q: Annotated[str, Meta(max_length=LIST_VALUE_CHARACTERS)] = ""
    limit: Annotated[int, Meta(ge=NETWORK_PAGE.least, le=NETWORK_PAGE.most)] = NETWORK_PAGE.default
    cursor: str | UnsetType = UNSET


class StoredNetworkList(Struct, frozen=True, kw_only=True):
    site_id: str
    name: str
    source: NetworkSource
    url: str
    key: bytes | None = None
    refresh_minutes: int
    note: str
    # Packed.
    networks: bytes
    count: int
    skipped: int = 0
    # Grows with each change of the row by an owner or a refresh, except of the times.
    revision: int
    # The validator of the last response.
    etag: str = ""
    problem: str = ""
    created_ms: int
    created_by: str
    changed_ms: int
    checked_ms: int | None = None
    # When its source is read again.
    due_ms: int | None = None
