"""Tools manifests: what the actions of a site look like to an agent. They name neither other agents nor rules."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from agentgate.lib.database import Store
from agentgate.lib.limits import AGENT_QUOTA_DEFAULT_PER_MINUTE, SUBMIT_SIGNATURE_WINDOW_S
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record, to_json
from agentgate.sites.agent_policy import AgentPolicy
from agentgate.sites.directory import SiteDirectory, SiteView
from agentgate.sites.records import Site, SiteAction
from agentgate.sites.repository import SiteStores


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


SCHEMA_VERSION = "1.0"
# Date of this manifest format: `updatedAt` of a manifest without a site.
SCHEMA_SINCE = Moment(1_794_700_800_000)
# Cached manifests, a few kilobytes each.
MOST_CACHED = 1_000

_JSON_SCHEMA = "https://json-schema.org/draft/2020-12/schema"
# Members of a tool that a policy may set.
_OWN_WORDS = ("title", "description", "inputSchema", "outputSchema", "annotations")
_SHAPES: Mapping[str, type] = {"title": str, "description": str}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z", re.ASCII)
_ACTION = "agentgate/action"

_AUTHENTICATION = ToolsAuthentication(
    scheme="http-message-signatures",
    profile="web-bot-auth",
    tag="web-bot-auth",
    algorithms=["ed25519"],
    required_components=["@method", "@authority", "@path", "content-digest", "signature-agent"],
    required_parameters=["created", "expires", "keyid", "nonce", "tag"],
    max_window_seconds=SUBMIT_SIGNATURE_WINDOW_S,
)
_ENDPOINTS = {
    "submit": ("POST", "/agent/submit"),
    "handoff": ("GET", "/v1/handoff/{id}"),
    "receiptKeys": ("GET", "/.well-known/agentgate-keys.json"),
    "receiptVerify": ("POST", "/v1/receipts/verify"),
    "siteTools": ("GET", "/v1/agent-tools/{siteKey}"),
}


class PublishedManifest(Struct, frozen=True):
    """A manifest, ready to be sent."""

    content: bytes
    etag: str


class ToolsManifests:
    """Writes manifests. Each is cached until its site changes."""

    def __init__(
        self, sites: SiteDirectory, store: Store[SiteStores], *, issuer: str, own_site_key: str | None
    ) -> None:
        self._sites = sites
        self._store = store
        self._issuer = issuer
        self._own_site_key = own_site_key
        self._made: dict[str, tuple[SiteView, PublishedManifest]] = {}

    async def of_site(self, site_key: str) -> PublishedManifest | None:
        """Return the manifest of a site; None when there is no such site, or no longer."""
        view = self._sites.find(site_key)
        if view is None or view.disabled:
            return None
        known = self._made.get(site_key)
        if known is not None and known[0] is view:
            return known[1]
        site = await self._store.read.sites.find_site(site_key, account_id=None)
        if site is None:
            return None
        published = _publish(site_manifest(site, view.agent_policy, issuer=self._issuer))
        if len(self._made) >= MOST_CACHED:
            self._made = {}
        self._made[site_key] = (view, published)
        return published

    async def own(self) -> PublishedManifest:
        """Return the service's own manifest: with its own site's tools if it has one, never a customer's."""
        own = await self.of_site(self._own_site_key) if self._own_site_key else None
        return own or _publish(_manifest(self._issuer, updated_at=SCHEMA_SINCE))


def site_manifest(site: Site, policy: AgentPolicy, *, issuer: str) -> ToolsManifest:
    """Return what a site offers to agents."""
    return _manifest(
        issuer,
        site_key=site.site_key,
        site=ToolsSite(name=site.name, origins=site.allowed_origins),
        updated_at=site.updated_at,
        quota=policy.quota_per_minute,
        currencies={terms.price[:3] for terms in policy.actions.values() if isinstance(terms.price, str)},
        tools=list(site_tools(site.actions, policy)),
    )


def site_tools(actions: Mapping[str, SiteAction], policy: AgentPolicy) -> Iterable[dict[str, Any]]:
    """Yield one tool for each action, or for each that the policy describes. An action that is gone has no tool."""
    described = [] if isinstance(policy.tools, UnsetType) else policy.tools
    if not described:
        described = [{"name": action} for action in actions]
    seen: set[str] = set()
    for given in described:
        name = given.get("name")
        if not isinstance(name, str) or not _NAME.match(name) or name in seen:
            continue
        meta = given.get("_meta")
        action = (meta if isinstance(meta, dict) else {}).get(_ACTION, name)
        if action in actions:
            seen.add(name)
            yield _tool(name, action, given, terms=actions[action], policy=policy)


def _tool(
    name: str, action: str, given: Mapping[str, Any], *, terms: SiteAction, policy: AgentPolicy
) -> dict[str, Any]:
    own = {word: given[word] for word in _OWN_WORDS if isinstance(given.get(word), _SHAPES.get(word, dict))}
    price = policy.price_for(None, action)
    meta: dict[str, Any] = {
        _ACTION: action,
        "agentgate/handoff": policy.allows_handoff(action),
        "agentgate/contentDigest": terms.require_content_digest is True,
    }
    if price is not None:
        meta["agentgate/price"] = str(policy.actions[action].price)
    usual = {
        "description": f"Performs {action} on this site. One submission per id.",
        "inputSchema": {"$schema": _JSON_SCHEMA, "type": "object"},
        "outputSchema": {
            "type": "object",
            "properties": {"receipt": {"type": "string"}},
            "required": ["receipt"],
        },
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }
    return {"name": name, **usual, **own, "_meta": meta}


def _manifest(
    issuer: str,
    *,
    updated_at: Moment,
    quota: int = AGENT_QUOTA_DEFAULT_PER_MINUTE,
    currencies: Iterable[str] = (),
    tools: list[dict[str, Any]] | None = None,
    **named: Any,
) -> ToolsManifest:
    return ToolsManifest(
        schema_version=SCHEMA_VERSION,
        issuer=issuer,
        updated_at=updated_at,
        authentication=_AUTHENTICATION,
        endpoints={
            name: ToolsEndpoint(method=method, url=issuer + path) for name, (method, path) in _ENDPOINTS.items()
        },
        quota=ToolsQuota(requests=quota, window_seconds=60),
        payment=ToolsPayment(
            protocol="pay-per-crawl",
            currency=sorted(currencies),
            offer_headers=["crawler-exact-price", "crawler-max-price"],
            offer_must_be_signed=True,
        ),
        tools=tools or [],
        **named,
    )


def _publish(manifest: ToolsManifest) -> PublishedManifest:
    content = to_json(manifest)
    return PublishedManifest(content, f'"{hashlib.sha256(content).hexdigest()[:24]}"')
