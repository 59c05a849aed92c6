"""Fills in the configuration of a proxy. Inserted values are validated first, and cannot end a line or a quote."""

import re
from importlib import resources
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct, structs

from agentgate.lib.records import SITE_KEY_PATTERN
from agentgate.lib.settings.values import UNIX
from agentgate_tools.adapters.tls import APACHE_TUNNEL, SYSTEM_AUTHORITIES, tls_lines
from agentgate_tools.adapters.visitor_tls import Certificate, listen_words, redirect_lines, server_lines, usual_place

# Files for servers that exist already: of nginx one for http {} and one for server {}, of Apache one for <VirtualHost>.
INCLUDES = {"nginx": ("agentgate-http.conf", "agentgate-server.conf"), "apache": ("agentgate-vhost.conf",)}
# The files of each proxy, the main file first. The main file and the includes are alternatives.
FILES = {
    "nginx": ("agentgate.conf", *INCLUDES["nginx"]),
    "caddy": ("Caddyfile",),
    "haproxy": ("haproxy.cfg", "agentgate.lua"),
    "apache": ("agentgate.conf", *INCLUDES["apache"], "agentgate.lua"),
    "traefik": ("agentgate.yml",),
    "envoy": ("envoy.yml",),
}
# Usual path of each main file.
PLACES = {
    "nginx": "/etc/nginx/conf.d/agentgate.conf",
    "caddy": "/etc/caddy/Caddyfile",
    "haproxy": "/etc/haproxy/agentgate.cfg",
    "apache": "/etc/apache2/sites-available/agentgate.conf",
    "traefik": "/etc/traefik/dynamic/agentgate.yml",
    "envoy": "/etc/envoy/envoy.yaml",
}
LISTEN = {"nginx": "80", "caddy": "", "haproxy": ":80", "apache": "80", "traefik": "", "envoy": "0.0.0.0:80"}
# Proxies whose files terminate TLS with a certificate. Caddy obtains its own.
WITH_CERTIFICATE = ("nginx", "haproxy", "apache")
PORTS = {"http": 80, "https": 443}
PLACEHOLDER_SECRET = "ags_PUT_THE_SECRET_OF_THIS_SITE_HERE"  # noqa: S105 - says that there is none

# One secret for all servers of a hosting provider: the files of each proxy, and how they state the origin of the server
# that the request is in. The Host header of a visitor only chooses the server.
FLEET_NAME = "fleet"
FLEET_FILES = {
    "nginx": INCLUDES["nginx"],
    "apache": (*INCLUDES["apache"], "agentgate.lua"),
    "caddy": ("Caddyfile",),
    "haproxy": FILES["haproxy"],
}
FLEET_ORIGINS = {
    "nginx": "$scheme://$server_name:$server_port",
    "apache": '(r.is_https and "https://" or "http://") .. r.server_name .. ":" .. r.port',
    "caddy": "",
    "haproxy": "%[ssl_fc,iif(https,http)]://%[var(txn.server)]",
}

# Proxies that can change pages without a module that must be built.
REWRITING = ("nginx",)

# The setting for an unavailable AgentGate: in monitor mode requests pass, in enforce mode they do not.
UNAVAILABLE = {"monitor": "open", "enforce": "closed"}
# The words of proxies that have their own.
_OWN_WORDS = {"traefik": {"open": "200", "closed": "503"}, "envoy": {"open": "true", "closed": "false"}}

# Proxies that can use the service's Unix socket, and how they write it where they would write host and port.
ON_SOCKET = {"nginx": UNIX + "{}", "caddy": "unix/{}", "haproxy": "unix@{}", "apache": "", "envoy": ""}

# A place for any number of lines.
_LINES = re.compile(r"^([ \t]*)\{\{(GATE|SERVICE_TLS|BIND|TLS|REDIRECT)\}\}\n", re.MULTILINE)
# Lines that only some installations need: an existing server, prices, robots.txt, decoys, a fleet, one site.
_SOME = re.compile(r"^([ \t]*)\{\{(EXISTING|PRICES|ROBOTS|DECOYS|FLEET|ONE)\}\}([^\n]*\n)", re.MULTILINE)
_PLACE = re.compile(r"\{\{([A-Z_]+)\}\}")
_SECRET = re.compile(r"ags_[A-Za-z0-9_-]{16,128}\Z", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\Z|\[[0-9A-Fa-f:.]+\]\Z", re.ASCII)
_PATH = re.compile(r"/[A-Za-z0-9_./-]+\Z", re.ASCII)
_LISTEN = re.compile(r"(?:(?:[0-9.]+|\[[0-9A-Fa-f:.]+\]|\*)?:)?([0-9]{1,5})\Z", re.ASCII)


class AdapterRefused(Exception):  # noqa: N818 - told in one line, not a fault
    """The values cannot be put into a configuration. The message names the value, and a valid one."""


class Installation(Struct, frozen=True, kw_only=True):
    """What differs from site to site."""

    site: str = "site_shop"
    service: str = "http://127.0.0.1:8080"
    # The authorities that may vouch for a service with TLS.
    service_ca: str = SYSTEM_AUTHORITIES
    origin: str = "https://shop.example"
    upstream: str = "http://127.0.0.1:3000"
    secret: str = PLACEHOLDER_SECRET
    # The address on which the proxy listens. Default: its usual address.
    listen: str = ""
    # The certificate of the site for visitors. Default: for an https origin without `listen`, the usual place.
    certificate: Certificate | None = None
    # The site's mode decides what happens to requests while AgentGate is unavailable.
    mode: str = "monitor"
    # Whether the files are for all servers of a hosting provider: each states its own name, and one secret is for all.
    fleet: bool = False
    # Whether the site's agent policy has prices: allowed requests then say what was charged.
    prices: bool = False
    # Whether /robots.txt is the file that AgentGate writes for the site.
    robots: bool = False
    # Whether the proxy adds a link that no person sees to the site's pages.
    decoys: bool = False


# The values in the files in deploy/.
EXAMPLE = Installation()


def file_name(proxy: str, file: str | None) -> str:
    """Return the name of a proxy's file: the requested one. Default: the first."""
    files = FILES.get(proxy)
    if files is None:
        raise AdapterRefused(f"there is no adapter for {proxy!r}; give one of {', '.join(FILES)}")
    if file is not None and file not in files:
        raise AdapterRefused(f"the adapter for {proxy} has no file {file!r}; it has {', '.join(files)}")
    return file or files[0]


def place_of(proxy: str, file: str) -> str:
    """Return the usual path of a proxy's file."""
    main = PLACES[proxy]
    return main if file == FILES[proxy][0] else f"/etc/{main.split('/')[2]}/{file}"


def render(proxy: str, installation: Installation, file: str | None = None) -> str:
    """Return a file of a proxy's adapter with the values of an installation in it."""
    name = file_name(proxy, file)
    if installation.fleet and installation.robots:
        raise AdapterRefused("--robots is for one site, and --fleet for many; give one of them")
    if installation.decoys and proxy not in REWRITING:
        raise AdapterRefused(f"{proxy} does not change pages; add the line of HTML of `agentgate site decoys` to yours")
    if installation.fleet and name not in FLEET_FILES.get(proxy, ()):
        usual = FLEET_FILES.get(proxy)
        found = f"with --file {' and --file '.join(usual)}" if usual else f"for {', '.join(FLEET_FILES)}"
        raise AdapterRefused(f"--fleet is {found}, not for {name if usual else proxy}")
    template = _template(_template_name(proxy, name))
    values = _values(proxy, installation)
    lines = _optional_lines(proxy, installation)
    needed = {"EXISTING": name in INCLUDES.get(proxy, ()), "PRICES": installation.prices, "ROBOTS": installation.robots}
    needed |= {"DECOYS": installation.decoys}
    needed |= {"FLEET": installation.fleet, "ONE": not installation.fleet}
    if proxy in INCLUDES:
        gate = _with_some(_template(f"{proxy}-gate.conf.txt"), needed)
        lines["GATE"] = _with_lines(gate, lines).splitlines()
    return _PLACE.sub(lambda match: values[match[1]], _with_lines(_with_some(template, needed), lines))


class UnavailableLine(NamedTuple):
    """The line that decides about requests while AgentGate is unavailable, in each mode of the site, and its file.

    An existing nginx server has it in another file than a new one.
    """

    file: str
    monitor: str
    enforce: str


def unavailable_line(proxy: str, installation: Installation) -> UnavailableLine:
    """Return the line of a proxy's files that differs between the modes."""
    files, lines = [], set()
    for file in FILES[proxy]:
        texts = (render(proxy, structs.replace(installation, mode=mode), file).splitlines() for mode in UNAVAILABLE)
        differing = {
            (opened.strip(), closed.strip()) for opened, closed in zip(*texts, strict=True) if opened != closed
        }
        files += [file] if differing else []
        lines |= differing
    [(opened, closed)] = lines
    return UnavailableLine(" or ".join(files), opened, closed)


def _with_lines(template: str, lines: dict[str, list[str]]) -> str:
    return _LINES.sub(lambda match: "".join(f"{match[1]}{line}".rstrip() + "\n" for line in lines[match[2]]), template)


def _with_some(template: str, needed: dict[str, bool]) -> str:
    return _SOME.sub(lambda match: match[1] + match[3] if needed[match[2]] else "", template)


def _template(name: str) -> str:
    return resources.files("agentgate_tools.adapters").joinpath(name).read_text(encoding="utf-8")


def _template_name(proxy: str, file: str) -> str:
    # The suffix includes the files in the wheel, and keeps tools from reading them as configuration.
    if file in INCLUDES.get(proxy, ()):
        return f"{proxy}-{file.removeprefix('agentgate-')}.txt"
    return f"{proxy}.{'lua' if file.endswith('.lua') else 'conf'}.txt"


def _values(proxy: str, installation: Installation) -> dict[str, str]:
    if not re.match(SITE_KEY_PATTERN, installation.site):
        raise AdapterRefused(f"{installation.site!r} is not a site key; it looks like site_shop1")
    if not _SECRET.match(installation.secret):
        raise AdapterRefused("the secret is not a site's secret, which starts with ags_ and has no spaces")
    name = installation.site.replace("-", "_")
    unavailable = UNAVAILABLE[installation.mode]
    origin_scheme, origin_host, _ = _parts("origin", installation.origin, ("http", "https"))
    service_scheme, service_name, service_port = _where_to_ask(proxy, installation)
    if proxy == "apache" and service_scheme == "https":
        service_scheme, (service_name, service_port) = "http", APACHE_TUNNEL
    authority = f"{service_name}:{service_port}"
    path = socket_path(installation.service)
    front = f"{origin_of(installation)} ({installation.site})"
    if installation.fleet:
        name, front = FLEET_NAME, "all sites of a fleet"
    _, upstream_name, upstream_port = _parts("upstream", installation.upstream, ("http",))
    origin = origin_of(installation)
    return {
        "SITE": installation.site,
        "NAME": name,
        "SECRET": installation.secret,
        "FRONT": front,
        "ORIGIN": FLEET_ORIGINS[proxy] if installation.fleet else origin,
        # In Lua, an expression.
        "LUA_ORIGIN": FLEET_ORIGINS[proxy] if installation.fleet else f'"{origin}"',
        # Caddy passes it on from snippet to snippet.
        "CADDY_ORIGIN": "{args.1}" if installation.fleet else origin,
        "CADDY_MORE": " {args.0}" if installation.fleet else "",
        "HANDLER": "{args.1}" if installation.fleet else name,
        "ORIGIN_SCHEME": "%[ssl_fc,iif(https,http)]" if installation.fleet else origin_scheme,
        "ORIGIN_AUTHORITY": origin.partition("://")[2],
        "SERVER_NAME": origin_host,
        "SERVICE_SCHEME": service_scheme,
        "SERVICE_URL": f"{UNIX}{path}|http://localhost" if path else f"{service_scheme}://{authority}",
        "SERVICE_HOST": ON_SOCKET[proxy].format(path) if path else authority,
        # Caddy takes an address without a scheme for plain HTTP.
        "SERVICE_DIAL": f"unix/{path}" if path else f"{'https://' if service_scheme == 'https' else ''}{authority}",
        "SERVICE_SOCKET": path,
        "SERVICE_TYPE": "STATIC" if path else "STRICT_DNS",
        "SERVICE_ADDRESS": f'pipe: {{ path: "{path}" }}'
        if path
        else f'socket_address: {{ address: "{service_name.strip("[]")}", port_value: {service_port} }}',
        "SERVICE_SSL": "".join(f" {word}" for word in _optional_lines(proxy, installation)["SERVICE_TLS"]),
        "UNAVAILABLE": _OWN_WORDS.get(proxy, {}).get(unavailable, unavailable),
        "SERVICE_NAME": service_name.strip("[]"),
        "SERVICE_PORT": str(service_port),
        "UPSTREAM_HOST": f"{upstream_name}:{upstream_port}",
        "UPSTREAM_NAME": upstream_name.strip("[]"),
        "UPSTREAM_PORT": str(upstream_port),
        **_listening(proxy, installation, origin),
    }


def origin_of(installation: Installation) -> str:
    """Return the site's origin without the usual port."""
    scheme, host, port = _parts("origin", installation.origin, ("http", "https"))
    return f"{scheme}://{host}" + ("" if port == PORTS[scheme] else f":{port}")


def _optional_lines(proxy: str, installation: Installation) -> dict[str, list[str]]:
    scheme, name, port = _where_to_ask(proxy, installation)
    address = _listen_address(proxy, installation)[0].strip("[]*")
    lines = {"SERVICE_TLS": [], "BIND": [f"bind {address}"] if address else [], **_visitor_lines(proxy, installation)}
    if scheme == "https":
        if not _PATH.match(installation.service_ca):
            raise AdapterRefused(f"--service-ca {installation.service_ca!r} must be the full path of a file")
        lines["SERVICE_TLS"] = tls_lines(proxy, name.strip("[]"), port, installation.service_ca)
    return lines


def _visitor_lines(proxy: str, installation: Installation) -> dict[str, list[str]]:
    """Return the lines of TLS for visitors, and of the redirect to it; none if `listen` is given."""
    certificate = certificate_of(proxy, installation)
    if certificate is None:
        # Debian's Apache listens on its usual ports already.
        own = _listen_address(proxy, installation)[1]
        own = installation.listen or (own if int(own) not in PORTS.values() else "")
        return {"TLS": [], "REDIRECT": [f"Listen {own}"] if proxy == "apache" and own else []}
    scheme, host, port = _parts("origin", installation.origin, ("http", "https"))
    if scheme != "https":
        raise AdapterRefused(f"--certificate is for an https origin, not for {installation.origin}")
    if not _PATH.match(certificate.chain) or not _PATH.match(certificate.key):
        raise AdapterRefused("--certificate and --certificate-key must be full paths of files")
    tls = server_lines(proxy, certificate)
    if installation.listen:
        return {"TLS": tls, "REDIRECT": [f"Listen {installation.listen}"] if proxy == "apache" else []}
    listens = [f"Listen {port}"] if proxy == "apache" and port not in PORTS.values() else []
    origin = origin_of(installation)
    name = installation.site.replace("-", "_")
    return {"TLS": tls, "REDIRECT": [*redirect_lines(proxy, name, host, origin), *listens]}


def certificate_of(proxy: str, installation: Installation) -> Certificate | None:
    """Return the certificate that a proxy's files name; None if the proxy does not terminate TLS with one."""
    if proxy not in WITH_CERTIFICATE or installation.certificate is not None:
        return installation.certificate if proxy in WITH_CERTIFICATE else None
    scheme, host, _ = _parts("origin", installation.origin, ("http", "https"))
    return usual_place(proxy, host) if scheme == "https" and not (installation.listen or installation.fleet) else None


def socket_path(service: str) -> str:
    """Return the path of the service's Unix socket; empty if the service is an address."""
    return service.removeprefix(UNIX) if service.startswith(UNIX) else ""


def _where_to_ask(proxy: str, installation: Installation) -> tuple[str, str, int]:
    """Return scheme, host and port of the service; on a Unix socket they only fill the Host header."""
    path = socket_path(installation.service)
    if not path:
        return _parts("service", installation.service, ("http", "https"))
    if not _PATH.match(path):
        raise AdapterRefused(f"--service {installation.service!r} must be {UNIX} and the full path of a socket")
    if proxy not in ON_SOCKET:
        raise AdapterRefused(f"{proxy} cannot use a Unix socket; give an address such as {EXAMPLE.service}")
    return "http", "localhost", 80


def _parts(option: str, url: str, schemes: tuple[str, ...]) -> tuple[str, str, int]:
    """Return scheme, host and port of an address that has nothing else."""
    example = getattr(EXAMPLE, option)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AdapterRefused(f"--{option} {url!r} is not an address; give one such as {example}") from None
    if parts.scheme not in schemes:
        raise AdapterRefused(f"--{option} {url!r} must start with {' or '.join(f'{one}://' for one in schemes)}")
    host = parts.netloc.rpartition(":")[0] if port is not None else parts.netloc
    rest = parts.path.removeprefix("/") or parts.query or parts.fragment
    if rest or "?" in url or "#" in url or not _HOST.match(host) or port == 0:
        raise AdapterRefused(f"--{option} {url!r} must be scheme, host and port only, such as {example}")
    return parts.scheme, host.lower(), port or PORTS[parts.scheme]


def _listening(proxy: str, installation: Installation, origin: str) -> dict[str, str]:
    address, port = _listen_address(proxy, installation)
    listen, certificate = installation.listen, certificate_of(proxy, installation)
    return {
        "LISTEN": f"{address}:{port}" if ":" in (listen or LISTEN[proxy]) else port,
        "LISTEN_TLS": "" if certificate is None else listen_words(proxy, certificate),
        "LISTEN_ADDRESS": address.strip("[]*") or "0.0.0.0",  # noqa: S104 - a proxy has to be reachable
        "LISTEN_PORT": port,
        # Caddy gets certificates for a name, and speaks HTTP on a bare port.
        "CADDY_SITE": "(agentgate)" if installation.fleet else f"http://:{port}" if listen else origin,
        # Modules of Apache.
        "MODULES": f"lua proxy proxy_http proxy_wstunnel headers{'' if certificate is None else ' ssl'}",
    }


def _listen_address(proxy: str, installation: Installation) -> tuple[str, str]:
    listen = installation.listen
    if not listen and not installation.fleet:
        scheme, _, usual = _parts("origin", installation.origin, ("http", "https"))
        if scheme == "http" or certificate_of(proxy, installation) is not None:
            # Visitors come to the port of the origin.
            return LISTEN[proxy].rpartition(":")[0], str(usual)
    match = _LISTEN.match(listen or LISTEN[proxy] or "80")
    if match is None or not 0 < int(match[1]) < 65_536:
        raise AdapterRefused(f"--listen {listen!r} is not a port, or an address and a port such as 127.0.0.1:8000")
    address, _, port = match[0].rpartition(":")
    return address, port
