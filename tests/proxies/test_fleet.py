"""One proxy of a hosting provider: files that are printed once for all servers, with one secret."""

import contextlib
import http.client
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from agentgate_tools.adapters.render import FLEET_FILES, Installation, render
from tests.proxies.running import APACHE_MODULES, DEBIAN_MODULES, Started
from tests.proxies.running import _end as end
from tests.proxies.running import _program as program_of
from tests.proxies.running import _wait_for as wait_for
from tests.support.cast import add_account
from tests.support.ports import free_port
from tests.support.service import RunningService

CURL = {"User-Agent": "curl/8.5.0", "Accept": "*/*"}
GUARDED = {
    "actions": {"read": {"browserRequired": True}},
    "routes": [{"method": "*", "path": "/members", "action": "read"}],
}
STRICT = "strict.example"
# The catch-all is the first server.
SERVERS = ("all.invalid", STRICT, "open.example", "unknown.example")


class Fleet(NamedTuple):
    """The address of all servers, one that only the server of the strict site has, and the secret in the files."""

    proxy: str
    port: int
    lone_port: int
    secret: str


def _nginx(started: Started, lone_port: int, parts: dict[str, Path]) -> list[str]:
    http_part, server_part = parts.values()
    servers = "".join(
        f"""server {{
            listen 127.0.0.1:{started.port}{" default_server" if name == SERVERS[0] else ""};
            {f"listen 127.0.0.1:{lone_port};" if name == STRICT else ""}
            server_name {name} www.{name}; include {server_part};
            location / {{ try_files /nothing @page; }} location @page {{ return 200 "{name}"; }}
        }}"""
        for name in SERVERS
    )
    folder = started.folder
    main = started.write(
        "nginx.conf",
        f"""daemon off; master_process off; pid {folder}/pid; error_log stderr warn;
        events {{ worker_connections 256; }}
        http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
          fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
          include {http_part}; {servers} }}""",
    )
    return [started.program, "-p", str(folder), "-c", str(main), "-e", "stderr"]


def _caddy(started: Started, lone_port: int, parts: dict[str, Path]) -> list[str]:
    sites = ""
    for number, name in enumerate(SERVERS):
        addresses = [f"http://{host}:{started.port}" for host in (name, f"www.{name}")]
        addresses = [f"http://:{started.port}"] if number == 0 else addresses
        addresses += [f"http://:{lone_port}"] if name == STRICT else []
        sites += f'(site{number}) {{\n\trespond "{name}"\n}}\n'
        sites += f"{', '.join(addresses)} {{\n\timport agentgate http://{name} site{number}\n}}\n"
    main = started.write("all.caddy", f"{{\n\tadmin off\n}}\nimport {parts['Caddyfile']}\n{sites}")
    return [started.program, "run", "--config", str(main), "--adapter", "caddyfile"]


def _apache(started: Started, lone_port: int, parts: dict[str, Path]) -> list[str]:
    folder, part = started.folder, parts["agentgate-vhost.conf"]
    part.write_text(part.read_text().replace("/etc/apache2/agentgate.lua", str(parts["agentgate.lua"])))
    servers = ""
    for name in SERVERS:
        (folder / name).mkdir()
        for file in ("members", "index"):
            (folder / name / file).write_text(name)
        ports = [started.port, lone_port] if name == STRICT else [started.port]
        servers += "".join(
            f"<VirtualHost *:{port}>\nServerName {name}\nServerAlias www.{name}\nDocumentRoot {folder}/{name}\n"
            "DirectoryIndex index\n"
            f"Include {part}\n</VirtualHost>\n"
            for port in ports
        )
    modules = "".join(f"LoadModule {name}_module {DEBIAN_MODULES}/mod_{name}.so\n" for name in (*APACHE_MODULES, "dir"))
    main = started.write(
        "apache2.conf",
        f"ServerRoot {folder}\nPidFile {folder}/pid\nDefaultRuntimeDir {folder}\nServerName localhost\n"
        f"ErrorLog /dev/stderr\nLogLevel warn\n{modules}User www-data\nGroup www-data\n"
        f"Listen 127.0.0.1:{started.port}\nListen 127.0.0.1:{lone_port}\n"
        f"<Directory />\nRequire all denied\n</Directory>\n<Directory {folder}>\nRequire all granted\n</Directory>\n"
        f"{servers}",
    )
    return [started.program, "-X", "-f", str(main)]


def _haproxy(started: Started, lone_port: int, parts: dict[str, Path]) -> list[str]:
    del lone_port
    hosts = "".join(f"{prefix}{name} {name}\n" for name in SERVERS[1:] for prefix in ("", "www."))
    text = parts["haproxy.cfg"].read_text().replace("/etc/haproxy/agentgate.lua", str(parts["agentgate.lua"]))
    text = text.replace("/etc/haproxy/agentgate.map", str(started.write("agentgate.map", hosts)))
    for name in SERVERS[1:]:
        text += f"backend {name} from agentgate_site\n"
        text += f"    http-request return status 200 content-type text/plain string {name}\n"
    main = started.write("haproxy.cfg", text.replace("abns@", f"abns@{started.port}_"))
    return [started.program, "-db", "-f", str(main)]


STARTERS: dict[str, Callable[[Started, int, dict[str, Path]], list[str]]] = {
    "nginx": _nginx,
    "caddy": _caddy,
    "apache": _apache,
    "haproxy": _haproxy,
}


@pytest.fixture(scope="module", params=list(FLEET_FILES))
def fleet(request: pytest.FixtureRequest, gateway: RunningService) -> Iterator[Fleet]:
    """A proxy with a catch-all, two servers with a site each, and one without a site."""
    proxy = request.param
    account, other = add_account(gateway, f"Hosting {proxy}"), add_account(gateway, f"Other {proxy}")
    path = f"/v1/admin/customers/{account}"
    secret = gateway.operator.post(f"{path}/fleet-credentials", json={"unknownHosts": "allow"}).json()["secret"]
    for owner, name, mode in (
        (account, STRICT, "enforce"),
        (account, "open.example", "monitor"),
        (other, "other.example", "monitor"),
    ):
        body = {"name": name, "allowedOrigins": [f"https://{name}"], "mode": mode, **GUARDED}
        assert gateway.operator.post(f"/v1/admin/customers/{owner}/sites", json=body).status_code == 201
    folder = Path(tempfile.mkdtemp(prefix="agentgate-fleet-"))
    folder.chmod(0o755)
    started = Started(program_of(proxy), folder, free_port())
    listen = f"127.0.0.1:{started.port}" if proxy == "haproxy" else ""
    installation = Installation(service=gateway.public_url, secret=secret, fleet=True, listen=listen)
    parts = {name: started.write(name, render(proxy, installation, name)) for name in FLEET_FILES[proxy]}
    lone_port = free_port()
    command = STARTERS[proxy](started, lone_port, parts)
    with started.log.open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_for(process, started)
        yield Fleet(proxy, started.port, lone_port, secret)
    finally:
        end(process)
        shutil.rmtree(folder, ignore_errors=True)


def ask(port: int, host: str, path: str = "/members", **headers: str) -> tuple[int, str]:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", path, headers={**CURL, **headers, "Host": host})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()


def test_each_server_has_the_mode_and_routes_of_its_site(fleet: Fleet) -> None:
    assert ask(fleet.port, STRICT)[0] == 401
    assert ask(fleet.port, "open.example") == (200, "open.example")
    assert ask(fleet.port, f"www.{STRICT}")[0] == 401


def test_a_blocked_request_has_the_reason_of_its_site(fleet: Fleet) -> None:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", fleet.port, timeout=10)) as connection:
        connection.request("GET", "/members", headers={**CURL, "Host": STRICT})
        reply = connection.getresponse()

    assert (
        reply.getheader("X-Service-Reason") == "receipt_required"
        or json.loads(reply.read())["reason"] == "receipt_required"
    )


def test_servers_without_a_site_follow_the_credential(fleet: Fleet) -> None:
    assert ask(fleet.port, "unknown.example") == (200, "unknown.example")
    if fleet.proxy == "haproxy":
        # Its catch-all is a backend that rejects.
        assert ask(fleet.port, "somewhere.example")[0] == 421
    else:
        assert ask(fleet.port, "somewhere.example") == (200, SERVERS[0])


# Attackers.


@pytest.mark.parametrize(
    "path", ["//open.example/members", "http://open.example/members", "/members?http://open.example/"]
)
def test_no_target_chooses_another_site(fleet: Fleet, path: str) -> None:
    """An absolute target names the host for the proxy too, so another server and its site may respond."""
    status, body = ask(fleet.port, STRICT, path)

    assert STRICT not in body
    # Apache and HAProxy reject an absolute target that contradicts the Host themselves.
    assert status in {400, 401, 403} or body == "open.example"


@pytest.mark.parametrize("host", ["open.example", "other.example", "unknown.example", "somewhere.example"])
def test_the_host_header_chooses_no_site(fleet: Fleet, host: str) -> None:
    """The only server of an address serves every Host: of monitor mode, of another account, and of no site."""
    if fleet.proxy == "haproxy":
        # It chooses the server by the Host too, so the response is never of the strict one.
        assert STRICT not in ask(fleet.port, host)[1]
        return
    assert ask(fleet.lone_port, STRICT)[0] == 401
    assert ask(fleet.lone_port, host)[0] == 401


@pytest.mark.parametrize(
    "host",
    [
        f"{STRICT}.",
        f"{STRICT}:80",
        STRICT.upper(),
        f"open.example,{STRICT}",
        f"{STRICT},open.example",
        f"{STRICT}:80:80",
    ],
)
def test_no_spelling_of_the_host_leads_to_the_site_without_its_decision(fleet: Fleet, host: str) -> None:
    status, body = ask(fleet.port, host)

    assert STRICT not in body or status == 401
    assert status in {400, 401, 403, 421} or body == SERVERS[0]


def test_a_stolen_secret_opens_nothing_through_the_proxy(fleet: Fleet) -> None:
    """A visitor who knows the secret describes a request to a site in monitor mode."""
    line = "GET 203.0.113.20 host=open.example https://open.example/"
    stolen = {"X-AgentGate-Secret": fleet.secret, "X-AgentGate-Request": line, "X-Service-Decision": "allow"}

    assert ask(fleet.port, STRICT, **stolen)[0] in {401, 403}
    if fleet.proxy != "haproxy":
        assert ask(fleet.lone_port, "open.example", **stolen)[0] in {401, 403}
    for path in ("/.agentgate/check", "/.agentgate/v1/gateway/check?respond=denial", "/.agentgate/v1/siteverify"):
        assert ask(fleet.port, STRICT, path, **stolen)[0] == 404


def test_the_challenge_pages_calls_reach_the_servers_site(fleet: Fleet) -> None:
    status, body = ask(fleet.port, STRICT, "/.agentgate/v1/gateway/challenge")

    assert status == 401
    assert "invalid_credential" not in body
    assert ask(fleet.port, STRICT, "/.agentgate/sdk/v1/agentgate.js")[0] == 200
