"""Fills in the configuration of a proxy. What is put into it was checked first, and cannot end a line or a quote."""

import re
from importlib import resources
from urllib.parse import urlsplit

from msgspec import Struct

from agentgate.lib.records import SITE_KEY_PATTERN
from agentgate_tools.adapters.cleared import clearing_lines
from agentgate_tools.adapters.down_page import down_page_lines
from agentgate_tools.adapters.snippets import SNIPPETS, snippet
from agentgate_tools.adapters.tls import APACHE_TUNNEL, SYSTEM_AUTHORITIES, tls_lines

# Proxy -> its files, the one that is included first. Those of nginx are alternatives: a whole server, or parts for one.
FILES = {
    "nginx": ("agentgate.conf", *SNIPPETS),
    "caddy": ("Caddyfile",),
    "haproxy": ("haproxy.cfg", "agentgate.lua"),
    "apache": ("agentgate.conf", "agentgate.lua"),
    "traefik": ("agentgate.yml",),
    "envoy": ("envoy.yml",),
}
LISTEN = {"nginx": "80", "caddy": "", "haproxy": ":80", "apache": "80", "traefik": "", "envoy": "0.0.0.0:80"}
PORTS = {"http": 80, "https": 443}
PLACEHOLDER_SECRET = "ags_PUT_THE_SECRET_OF_THIS_SITE_HERE"  # noqa: S105 - says that there is none

# What a person sees while AgentGate is away. It stands in the configuration of every proxy, between quotes of all kinds
# and where braces, dollars and percents mean something, so it has none of these. Trying again repeats a form as well.
DOWN_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
    "<title>Try again in a moment</title></head>"
    '<body><main style="max-width:26rem;margin:15vh auto;padding:1.5rem;font:16px/1.5 system-ui,sans-serif">'
    '<h1 style="font-size:22px;line-height:1.3">Try again in a moment</h1>'
    "<p>This site cannot check requests right now.</p>"
    '<p><a href="" onclick="location.reload();return false" style="display:inline-block;padding:10px 20px;'
    'border:1px solid;border-radius:8px;color:inherit;font-weight:600;text-decoration:none">Try again</a></p>'
    "</main></body></html>"
)

# A place that has a line of its own, and becomes as many as there are.
_LINES = re.compile(
    r"^([ \t]*)\{\{(CLEARED|SERVICE_TLS|SERVICE_TRANSPORT|SERVICE_USES|DOWN_ROUTER|DOWN_MIDDLEWARES)\}\}\n",
    re.MULTILINE,
)
_PLACE = re.compile(r"\{\{([A-Z_]+)\}\}")
_SECRET = re.compile(r"ags_[A-Za-z0-9_-]{16,128}\Z", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\Z|\[[0-9A-Fa-f:.]+\]\Z", re.ASCII)
_PATH = re.compile(r"/[A-Za-z0-9_./-]+\Z", re.ASCII)
_LISTEN = re.compile(r"(?:(?:[0-9.]+|\[[0-9A-Fa-f:.]+\]|\*)?:)?([0-9]{1,5})\Z", re.ASCII)


class AdapterRefused(Exception):  # noqa: N818 - told in one line, not a fault
    """The values cannot be put into a configuration. The message says which, and what would be right."""


class Installation(Struct, frozen=True, kw_only=True):
    """What differs from site to site."""

    site: str = "site_shop"
    service: str = "http://127.0.0.1:8080"
    # The authorities that may vouch for a service with TLS.
    service_ca: str = SYSTEM_AUTHORITIES
    origin: str = "https://shop.example"
    upstream: str = "http://127.0.0.1:3000"
    secret: str = PLACEHOLDER_SECRET
    # Where the proxy listens; empty for its usual place.
    listen: str = ""
    # The path of a page of the site's own, for people while AgentGate is away. Traefik has none to show.
    down_page: str = ""


# What the files in deploy/ are filled in with.
EXAMPLE = Installation()


def file_name(proxy: str, file: str | None) -> str:
    """Return the name of a proxy's file: the first one, or the one that is asked for."""
    files = FILES.get(proxy)
    if files is None:
        raise AdapterRefused(f"there is no adapter for {proxy!r}; give one of {', '.join(FILES)}")
    if file is not None and file not in files:
        raise AdapterRefused(f"the adapter for {proxy} has no file {file!r}; it has {', '.join(files)}")
    return file or files[0]


def render(proxy: str, installation: Installation, file: str | None = None) -> str:
    """Return a file of a proxy's adapter with the values of an installation in it."""
    name = file_name(proxy, file)
    if name in SNIPPETS:
        return snippet(name, render(proxy, installation))
    template = (
        resources.files("agentgate_tools.adapters").joinpath(_template_name(proxy, name)).read_text(encoding="utf-8")
    )
    values = _values(proxy, installation)
    lines = {"CLEARED": clearing_lines(proxy), **_optional_lines(proxy, installation)}
    lines |= _down_page_lines(proxy, installation)
    template = _LINES.sub(lambda match: "".join(f"{match[1]}{line}\n" for line in lines[match[2]]), template)
    return _PLACE.sub(lambda match: values[match[1]], template)


def _template_name(proxy: str, file: str) -> str:
    # The ending puts them into the wheel, and keeps tools from taking them for configuration.
    return f"{proxy}.{'lua' if file.endswith('.lua') else 'conf'}.txt"


def _values(proxy: str, installation: Installation) -> dict[str, str]:
    if not re.match(SITE_KEY_PATTERN, installation.site):
        raise AdapterRefused(f"{installation.site!r} is not a site key; it looks like site_shop1")
    if not _SECRET.match(installation.secret):
        raise AdapterRefused("the secret is not one of a site; it begins with ags_ and has no spaces")
    origin_scheme, origin_host, origin_port = _parts("origin", installation.origin, ("http", "https"))
    service_scheme, service_name, service_port = _parts("service", installation.service, ("http", "https"))
    if proxy == "apache" and service_scheme == "https":
        service_name, service_port = APACHE_TUNNEL
    _, upstream_name, upstream_port = _parts("upstream", installation.upstream, ("http",))
    is_usual = origin_port == PORTS[origin_scheme]
    origin = f"{origin_scheme}://{origin_host}" + ("" if is_usual else f":{origin_port}")
    return {
        "SITE": installation.site,
        "NAME": installation.site.replace("-", "_"),
        "SECRET": installation.secret,
        "ORIGIN": origin,
        "ORIGIN_SCHEME": origin_scheme,
        "ORIGIN_AUTHORITY": origin.partition("://")[2],
        "SERVER_NAME": origin_host,
        "SERVICE_SCHEME": service_scheme,
        "SERVICE_HOST": f"{service_name}:{service_port}",
        # Caddy takes an address without a scheme for plain HTTP.
        "SERVICE_DIAL": f"{'https://' if service_scheme == 'https' else ''}{service_name}:{service_port}",
        "SERVICE_SSL": "".join(f" {word}" for word in _optional_lines(proxy, installation)["SERVICE_TLS"]),
        "DOWN": "down-page" if installation.down_page else "down",
        "SERVICE_NAME": service_name.strip("[]"),
        "SERVICE_PORT": str(service_port),
        "UPSTREAM_HOST": f"{upstream_name}:{upstream_port}",
        "UPSTREAM_NAME": upstream_name.strip("[]"),
        "UPSTREAM_PORT": str(upstream_port),
        **_listening(proxy, installation.listen, origin),
    }


def _optional_lines(proxy: str, installation: Installation) -> dict[str, list[str]]:
    scheme, name, port = _parts("service", installation.service, ("http", "https"))
    if scheme == "http":
        return {"SERVICE_TLS": [], "SERVICE_TRANSPORT": [], "SERVICE_USES": []}
    if not _PATH.match(installation.service_ca):
        raise AdapterRefused(f"--service-ca {installation.service_ca!r} must be the full path of a file")
    return tls_lines(proxy, installation.site.replace("-", "_"), name.strip("[]"), port, installation.service_ca)


def _down_page_lines(proxy: str, installation: Installation) -> dict[str, list[str]]:
    if not installation.down_page:
        return {"DOWN_ROUTER": [], "DOWN_MIDDLEWARES": []}
    if proxy != "traefik":
        raise AdapterRefused(f"the adapter for {proxy} has a page of its own; --down-page is for traefik")
    if not _PATH.match(installation.down_page):
        raise AdapterRefused(f"--down-page {installation.down_page!r} must be the path of a page, such as /503.html")
    return down_page_lines(installation.site.replace("-", "_"), installation.down_page)


def _parts(option: str, url: str, schemes: tuple[str, ...]) -> tuple[str, str, int]:
    """Return scheme, host and port of an address that has nothing else."""
    example = getattr(EXAMPLE, option)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AdapterRefused(f"--{option} {url!r} is not an address; give one such as {example}") from None
    if parts.scheme not in schemes:
        raise AdapterRefused(f"--{option} {url!r} must begin with {' or '.join(f'{one}://' for one in schemes)}")
    host = parts.netloc.rpartition(":")[0] if port is not None else parts.netloc
    rest = parts.path.removeprefix("/") or parts.query or parts.fragment
    if rest or "?" in url or "#" in url or not _HOST.match(host) or port == 0:
        raise AdapterRefused(f"--{option} {url!r} must be scheme, host and port only, such as {example}")
    return parts.scheme, host.lower(), port or PORTS[parts.scheme]


def _listening(proxy: str, listen: str, origin: str) -> dict[str, str]:
    match = _LISTEN.match(listen or LISTEN[proxy] or "80")
    if match is None or not 0 < int(match[1]) < 65_536:
        raise AdapterRefused(f"--listen {listen!r} is not a port, or an address and a port such as 127.0.0.1:8000")
    address, _, port = match[0].rpartition(":")
    bind = f"bind {address.strip('[]')}" if address.strip("*") else "# bind 127.0.0.1"
    return {
        "LISTEN": match[0],
        "LISTEN_ADDRESS": address.strip("[]*") or "0.0.0.0",  # noqa: S104 - a proxy is there to be reached
        "LISTEN_PORT": port,
        "BIND": bind,
        "DOWN_PAGE": DOWN_PAGE,
        # Caddy gets certificates for a name by itself; for a bare port it speaks HTTP.
        "CADDY_SITE": f"http://:{port}" if listen else origin,
    }
