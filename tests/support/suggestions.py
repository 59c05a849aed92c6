"""Suggestions of a site as the gateway saves them, without the requests."""

from agentgate.gateway.suggestions.records import SeenGroup, SuggestionGroup
from tests.support.service import RunningService

REQUESTS = 7


def verified(sender: str, path: str) -> SuggestionGroup:
    """Return the requests of a service from its published networks."""
    return SuggestionGroup("POST", path, "", sender, sender, is_proven=True)


def named(program: str, path: str) -> SuggestionGroup:
    """Return the requests of a client that claims a name."""
    return SuggestionGroup("GET", path, program, "", "", is_proven=False)


def suggest(service: RunningService, site_id: str, *groups: SuggestionGroup) -> None:
    """Save these groups for a site."""
    now_ms = service.application.clock.now_ms()
    seen = [SeenGroup(site_id, group, REQUESTS, ["00" * 8], now_ms, now_ms) for group in groups]
    service.change(lambda stores: stores.suggestions.add_seen(seen))
