"""The agent prompt: Markdown that tells a coding agent, or a person, how to add the check to one site. No secrets."""

from functools import cache
from importlib import resources

from agentgate.http.call import Call
from agentgate.protection.sites.records import Site


class AgentPrompt:
    """Writes the prompt of a site."""

    def __init__(self, public_base_url: str, *, token_seconds: int) -> None:
        self._public_base_url = public_base_url.rstrip("/")
        self._token_seconds = token_seconds

    def write(self, site: Site, origin: str) -> str:
        """Return the prompt; `origin` is where the service is reached unless an address is configured."""
        actions = sorted(site.actions)
        return _template().format(
            base_url=self._public_base_url or origin,
            site_key=site.site_key,
            mode=site.mode.value,
            widget_mode=site.widget_mode.value,
            action=actions[0] if actions else "submit",
            actions=_listed(actions) or "none yet: add one to the site",
            origins=_listed(site.allowed_origins) or "none yet: add the origin of every page to the site",
            token_seconds=self._token_seconds,
        )


def request_origin(call: Call) -> str:
    """Return the origin under which a request reached the service."""
    host = call.request.header("host") or "localhost"
    return f"{'https' if call.request.secure else 'http'}://{host.lower()}"


@cache
def _template() -> str:
    return resources.files("agentgate.protection.sites").joinpath("prompt.md").read_text("utf-8")


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
