"""The tools manifest as it goes over the wire. What stands in a tool is an MCP Tool object; ours is under `_meta`."""

from typing import Any

from msgspec import UNSET, UnsetType

from agentgate.lib.moment import Moment
from agentgate.lib.records import Record


class ToolsSite(Record, frozen=True, kw_only=True):
    """The site that the tools belong to."""

    name: str
    origins: list[str]


class ToolsAuthentication(Record, frozen=True, kw_only=True):
    """How a request has to be signed (RFC 9421, Web Bot Auth)."""

    scheme: str
    profile: str
    tag: str
    algorithms: list[str]
    required_components: list[str]
    required_parameters: list[str]
    max_window_seconds: int


class ToolsEndpoint(Record, frozen=True, kw_only=True):
    """One address of the service; `{name}` in it stands for a value."""

    method: str
    url: str


class ToolsQuota(Record, frozen=True, kw_only=True):
    """How often one agent may ask."""

    requests: int
    window_seconds: int


class ToolsPayment(Record, frozen=True, kw_only=True):
    """How prices are offered. `currency` lists those in which something has a price."""

    protocol: str
    currency: list[str]
    offer_headers: list[str]
    offer_must_be_signed: bool


class ToolsManifest(Record, frozen=True, kw_only=True):
    """What agents can do here, and how."""

    schema_version: str
    issuer: str
    site_key: str | UnsetType = UNSET
    site: ToolsSite | UnsetType = UNSET
    updated_at: Moment
    authentication: ToolsAuthentication
    endpoints: dict[str, ToolsEndpoint]
    quota: ToolsQuota
    payment: ToolsPayment
    tools: list[dict[str, Any]]
