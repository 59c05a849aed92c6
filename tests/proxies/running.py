"""Real proxies with the configuration that we ship: each starts in a separate folder and is ended by its process ID."""

import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import msgspec
import pytest
import yaml

from agentgate_tools.adapters.render import FILES, Installation, render
from agentgate_tools.adapters.tls import APACHE_TUNNEL
from tests.support.ports import free_port

START_S = 15.0
STOP_S = 5.0
APACHE_TUNNEL_PORT = re.compile(rf"\b{APACHE_TUNNEL[1]}\b")
DEBIAN_MODULES = Path("/usr/lib/apache2/modules")
APACHE_MODULES = ("mpm_event", "authz_core", "headers", "lua", "proxy", "proxy_http", "proxy_wstunnel")
TRAEFIK_QUESTION = "127.0.0.1:9191"
LUA_FOLDER = Path("/usr/share/lua/5.3")


@dataclass
class Started:
    """What runs, and how it is run."""

    program: str
    folder: Path
    port: int
    # HTTP/2 without TLS: instead of HTTP/1 on nginx, in addition to it on all others.
    speaks_http2: bool = False

    @property
    def log(self) -> Path:
        """The proxy's log file."""
        return self.folder / "log"

    def write(self, name: str, text: str) -> Path:
        """Write a file of its configuration."""
        path = self.folder / name
        path.write_text(text)
        return path


def _nginx(started: Started, texts: dict[str, str]) -> list[str]:
    text = texts["agentgate.conf"]
    if started.speaks_http2:
        text = text.replace(f"{started.port};", f"{started.port} http2;", 1)
    path = started.write("agentgate.conf", text)
    temporary = "".join(
        f"{name}_temp_path {started.folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = started.write(
        "nginx.conf",
        f"daemon off; master_process off; pid {started.folder}/pid; error_log stderr warn;"
        f"events {{ worker_connections 256; }} http {{ access_log off; {temporary} include {path}; }}",
    )
    return [started.program, "-p", str(started.folder), "-c", str(main), "-e", "stderr"]


def _caddy(started: Started, texts: dict[str, str]) -> list[str]:
    path = started.write("agentgate.caddy", texts["Caddyfile"])
    servers = "\tservers {\n\t\tprotocols h1 h2c\n\t}\n" if started.speaks_http2 else ""
    main = started.write("Caddyfile", f"{{\n\tadmin off\n{servers}}}\nimport {path}\n")
    return [started.program, "run", "--config", str(main), "--adapter", "caddyfile"]


def _haproxy(started: Started, texts: dict[str, str]) -> list[str]:
    lua = started.write("agentgate.lua", texts["agentgate.lua"])
    text = texts["haproxy.cfg"].replace("/etc/haproxy/agentgate.lua", str(lua))
    # Two proxies of one site run at once.
    main = started.write("haproxy.cfg", text.replace("abns@", f"abns@{started.port}_"))
    return [started.program, "-db", "-f", str(main)]


def _apache(started: Started, texts: dict[str, str]) -> list[str]:
    tunnel = str(free_port())
    lua = started.write("agentgate.lua", APACHE_TUNNEL_PORT.sub(tunnel, texts["agentgate.lua"]))
    conf = APACHE_TUNNEL_PORT.sub(tunnel, texts["agentgate.conf"]).replace("/etc/apache2/agentgate.lua", str(lua))
    path = started.write("agentgate.conf", conf)
    names = (
        *APACHE_MODULES,
        *(["http2"] if started.speaks_http2 else []),
        *(["ssl", "alias"] if "SSL" in conf else []),
    )
    modules = "\n".join(f"LoadModule {name}_module {DEBIAN_MODULES}/mod_{name}.so" for name in names)
    modules += "\nProtocols h2c http/1.1" if started.speaks_http2 else ""
    user = "User www-data\nGroup www-data" if os.geteuid() == 0 else ""
    main = started.write(
        "apache2.conf",
        f"ServerRoot {started.folder}\nPidFile {started.folder}/pid\nDefaultRuntimeDir {started.folder}\n"
        f"ServerName localhost\nErrorLog /dev/stderr\nLogLevel warn\n{modules}\n{user}\n"
        f"<Directory />\nRequire all denied\n</Directory>\nInclude {path}\n",
    )
    # With HTTP/2, a child of Debian's Apache 2.4.68 occasionally crashes when a stream is rejected; its parent
    # continues.
    return [started.program, "-DFOREGROUND" if started.speaks_http2 else "-X", "-f", str(main)]


def _traefik(started: Started, texts: dict[str, str]) -> list[str]:
    question = f"127.0.0.1:{free_port()}"
    path = started.write("agentgate.yml", texts["agentgate.yml"].replace(TRAEFIK_QUESTION, question))
    # The settings that the first comment of the shipped file requires, and a quick shutdown.
    ends = {"transport": {"lifeCycle": {"graceTimeOut": "100ms"}}}
    entry_points = {
        "web": {"address": f"127.0.0.1:{started.port}", "http": {"aliasHeadersStrategy": "delete"}, **ends},
        "agentgate": {
            "address": question,
            "forwardedHeaders": {"trustedIPs": ["127.0.0.1/32"], "notAppendXForwardedFor": True},
            **ends,
        },
    }
    static = {
        "global": {"checkNewVersion": False, "sendAnonymousUsage": False},
        "log": {"level": "WARN"},
        "entryPoints": entry_points,
        "providers": {"file": {"filename": str(path), "watch": False}},
    }
    return [started.program, f"--configFile={started.write('traefik.yml', yaml.safe_dump(static))}"]


def _envoy(started: Started, texts: dict[str, str]) -> list[str]:
    path = started.write("envoy.yml", texts["envoy.yml"])
    usual = ["--use-dynamic-base-id", "--concurrency", "2", "--log-level", "warning", "--drain-time-s", "0"]
    return [started.program, "-c", str(path), *usual]


STARTERS: dict[str, Callable[[Started, dict[str, str]], list[str]]] = {
    "nginx": _nginx,
    "caddy": _caddy,
    "haproxy": _haproxy,
    "apache": _apache,
    "traefik": _traefik,
    "envoy": _envoy,
}
PACKAGES = {"nginx": "nginx", "caddy": "caddy", "haproxy": "haproxy", "apache": "apache2-bin"}


@contextlib.contextmanager
def running_proxy(
    proxy: str,
    installation: Installation,
    *,
    speaks_http2: bool = False,
    change: Callable[[str], str] = lambda text: text,
) -> Iterator[int]:
    """Run a proxy on a free port of the loopback for as long as the block does; its port is the value.

    `change` makes another configuration of the one that we ship.
    """
    program = _program(proxy)
    # Not pytest's own temporary folder: Apache changes to a user who could not read it.
    folder = Path(tempfile.mkdtemp(prefix=f"agentgate-{proxy}-"))
    folder.chmod(0o755)
    try:
        with _running(proxy, Started(program, folder, free_port(), speaks_http2), installation, change) as port:
            yield port
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _running(proxy: str, started: Started, installation: Installation, change: Callable[[str], str]) -> Iterator[int]:
    folder = started.folder
    filled = msgspec.structs.replace(installation, listen=f"127.0.0.1:{started.port}")
    command = STARTERS[proxy](started, {name: change(render(proxy, filled, name)) for name in FILES[proxy]})
    homes = {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    with started.log.open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | homes)
    try:
        _wait_for(process, started)
        yield started.port
    finally:
        _end(process)


def absent(reason: str) -> NoReturn:
    """Skip the test, or fail it where every proxy has to be present."""
    if os.environ.get("REQUIRE_PROXIES") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _program(proxy: str) -> str:
    """Return the proxy's program, where this machine can run it."""
    if proxy not in PACKAGES:
        return _program_from_the_index(proxy)
    program = PACKAGES[proxy].removesuffix("-bin")
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        absent(f"{program}: there is none on the PATH; Debian's package is {PACKAGES[proxy]}")
    if proxy == "apache" and not (LUA_FOLDER / "socket.lua").exists() and "LUA_PATH_5_3" not in os.environ:
        absent("apache: Lua's sockets are missing; Debian's package is lua-socket")
    return found


def _program_from_the_index(proxy: str) -> str:
    """Return the program of a proxy that no distribution has; requirements/proxies.lock brings it."""
    found = shutil.which(proxy, path=sysconfig.get_path("scripts"))
    if found is None:
        absent(f"{proxy}: not installed; see requirements/proxies.in")
    return found


def _wait_for(process: subprocess.Popen[bytes], started: Started) -> None:
    deadline_s = time.monotonic() + START_S
    while True:
        with contextlib.suppress(OSError):
            # Another program could have responded on the port.
            if _is_ready(started) and process.poll() is None:
                return
        if process.poll() is not None or time.monotonic() > deadline_s:
            pytest.fail(f"the proxy did not start:\n{started.log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.01)


def _is_ready(started: Started) -> bool:
    """Return whether the site responds: Traefik listens before it has loaded its routes, and returns 404 until then."""
    if started.speaks_http2 and started.program.endswith("nginx"):
        with socket.create_connection(("127.0.0.1", started.port), timeout=5):
            return True
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", started.port, timeout=5)) as connection:
        connection.request("GET", "/", headers={"Host": "shop.example"})
        return connection.getresponse().status != http.HTTPStatus.NOT_FOUND


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_S)
