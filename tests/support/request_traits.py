"""The traits of a request that is written down as a test has it."""

from ipaddress import ip_network
from typing import Any

from agentgate.sites.request_matcher import RequestMatcher
from agentgate.sites.rules.evaluate import NO_TRAITS, CompiledRules, Traits
from agentgate.sites.rules.patterns.networks import NetworkSet


def traits_of(compiled: CompiledRules, request: dict[str, Any]) -> Traits:
    """Read address, method, host, path and headers as the gateway would; absent ones have neutral values."""
    if compiled.predicates is None:
        return NO_TRAITS
    lists = request.get("network_lists", {})
    matcher = RequestMatcher(
        compiled.predicates, networks={name: NetworkSet(map(ip_network, found)) for name, found in lists.items()}
    )
    headers = {name.lower(): value.lower() for name, value in request.get("headers", {}).items()}
    page = matcher.of_page(
        request.get("method") or "GET",
        [value.encode() for value in request.get("overrides", [])],
        "?".join(filter(None, (request.get("path") or "/other", request.get("query")))).encode(),
        request.get("host") or "shop.example",
    )
    client = matcher.of_client(request.get("address") or "192.0.2.1", None)
    of_headers = matcher.of_headers(matcher.header_predicates((), others=True), headers.get)
    return Traits(client.sure | page.sure | of_headers, page.maybe)
