"""Tools manifests over HTTP, for everybody and every page."""

from typing import cast

import msgspec

from agentgate.http.call import Call
from agentgate.http.cors import OPEN_TO_ALL
from agentgate.http.replies import Reply
from agentgate.lib.errors import Refused
from agentgate.lib.limits import AGENT_TOOLS_MAX_AGE_S
from agentgate.protection.agents.tools.manifests import Published, ToolsManifests
from agentgate.protection.agents.tools.records import ToolsManifest


async def read_site_tools(call: Call, manifests: ToolsManifests) -> Reply[ToolsManifest | None]:
    """Read what agents can do at a site, and how.

    Each tool is an MCP Tool object. A site may serve this as its own `/.well-known/agentgate-tools.json`.
    """
    found = await manifests.of_site(call.params["siteKey"])
    if found is None:
        raise Refused("site_not_found")
    return _reply(call, found)


async def read_own_tools(call: Call, manifests: ToolsManifests) -> Reply[ToolsManifest | None]:
    """Read what agents can do at the service itself, and where sites list theirs. No customer is listed."""
    return _reply(call, await manifests.own())


def _reply(call: Call, found: Published) -> Reply[ToolsManifest | None]:
    headers = (("cache-control", f"public, max-age={AGENT_TOOLS_MAX_AGE_S}"), ("etag", found.etag), *OPEN_TO_ALL)
    if _is_known(call.request.header("if-none-match"), found.etag):
        return Reply(body=None, status=304, headers=headers)
    return Reply(body=cast("ToolsManifest", msgspec.Raw(found.content)), headers=headers)


def _is_known(sent: str | None, etag: str) -> bool:
    if sent is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in sent.split(",")]
    return "*" in tags or etag in tags
