"""The adapters of the tools, as the console shows them: filled in for a site, without its secret."""

from msgspec import UnsetType

from agentgate.lib.errors import Refused
from agentgate.lib.settings.schema import Settings
from agentgate.lib.settings.values import UNIX
from agentgate.sites.agent_policy import read_policy
from agentgate.sites.records import Adapter, AdapterFile, AdapterLine, AdapterQuery, Site
from agentgate_tools.adapters.render import (
    EXAMPLE,
    FILES,
    INCLUDES,
    ON_SOCKET,
    PLACEHOLDER_SECRET,
    REWRITING,
    AdapterRefused,
    Installation,
    place_of,
    render,
    unavailable_line,
)


class AdapterTexts:
    """Implements AdapterWriter with the templates of `agentgate adapter`."""

    proxies = tuple(FILES)

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def write(self, proxy: str, site: Site, query: AdapterQuery) -> Adapter:
        """Return the files of a proxy; reject unknown proxies and invalid addresses."""
        if proxy not in FILES:
            raise Refused("not_found", f"There is no adapter for this proxy. Use one of {', '.join(FILES)}.")
        installation = Installation(
            site=site.site_key,
            service=listener_for_proxies(self._settings, proxy),
            origin=_first(query.origin, site.allowed_origins),
            upstream=EXAMPLE.upstream if isinstance(query.upstream, UnsetType) else query.upstream,
            listen="" if isinstance(query.listen, UnsetType) else query.listen,
            mode=site.mode.value,
            prices=read_policy(site.agent_policy).has_prices,
            decoys=site.decoys and proxy in REWRITING,
        )
        try:
            files = [
                AdapterFile(
                    name=name,
                    text=render(proxy, installation, name),
                    use="main"
                    if name == FILES[proxy][0]
                    else "existing"
                    if name in INCLUDES.get(proxy, ())
                    else "with",
                    path=place_of(proxy, name),
                )
                for name in FILES[proxy]
            ]
        except AdapterRefused as refused:
            raise Refused("invalid_filter", f"The adapter's configuration cannot be generated: {refused}.") from None
        line = AdapterLine(**unavailable_line(proxy, installation)._asdict())
        return Adapter(proxy=proxy, files=files, placeholder=PLACEHOLDER_SECRET, unavailable=line)


def listener_for_proxies(settings: Settings, proxy: str) -> str:
    """Return the public listener as a proxy on the same machine reaches it."""
    if settings.public_listen.path and proxy in ON_SOCKET:
        return f"{UNIX}{settings.public_listen.path}"
    base = settings.public_base_url.rstrip("/")
    if not base and settings.public_listen.port == 0:
        # With port 0, the system chooses any free port, so the address is not known beforehand.
        return EXAMPLE.service
    listens = f"http://{settings.public_listen}".replace("//0.0.0.0:", "//127.0.0.1:")
    # A proxy calls from nearby and without TLS, so it cannot use the https address that is meant for people.
    return base if base.startswith("http://") else listens


def _first(asked: str | UnsetType, origins: list[str]) -> str:
    if not isinstance(asked, UnsetType):
        return asked
    return origins[0] if origins else EXAMPLE.origin
