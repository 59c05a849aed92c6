"""One nginx of a hosting provider: printed once for all servers, with one secret."""

import contextlib
import http.client
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from agentgate_tools.adapters.render import INCLUDES, Installation, render
from tests.proxies.running import Started
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


class Ports(NamedTuple):
    """The address of all servers, and one that only the server of the strict site has."""

    port: int
    lone_port: int


@pytest.fixture(scope="module")
def fleet(gateway: RunningService) -> Iterator[Ports]:
    """Return an nginx with a catch-all, two servers with a site each, and one without a site."""
    account = add_account(gateway, "Hosting")
    path = f"/v1/admin/customers/{account}"
    secret = gateway.operator.post(f"{path}/fleet-credentials", json={"unknownHosts": "allow"}).json()["secret"]
    for name, mode in (("strict.example", "enforce"), ("open.example", "monitor")):
        body = {"name": name, "allowedOrigins": [f"https://{name}"], "mode": mode, **GUARDED}
        assert gateway.operator.post(f"{path}/sites", json=body).status_code == 201
    folder = Path(tempfile.mkdtemp(prefix="agentgate-fleet-"))
    folder.chmod(0o755)
    started = Started(program_of("nginx"), folder, free_port())
    installation = Installation(service=gateway.public_url, secret=secret, fleet=True)
    parts = {name: started.write(name, render("nginx", installation, name)) for name in INCLUDES["nginx"]}
    http_part, server_part = (parts[name] for name in INCLUDES["nginx"])
    lone_port = free_port()
    servers = "".join(
        f"""server {{
            listen 127.0.0.1:{started.port}{" default_server" if name == "_" else ""};
            {f"listen 127.0.0.1:{lone_port};" if "strict" in name else ""}
            server_name {name}; include {server_part};
            location / {{ try_files /nothing @page; }} location @page {{ return 200 "{name}"; }}
        }}"""
        for name in ("_", "strict.example www.strict.example", "open.example", "unknown.example")
    )
    main = started.write(
        "nginx.conf",
        f"""daemon off; master_process off; pid {folder}/pid; error_log stderr warn;
        events {{ worker_connections 256; }}
        http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
          fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
          include {http_part}; {servers} }}""",
    )
    with started.log.open("ab") as log:
        process = subprocess.Popen(
            [started.program, "-p", str(folder), "-c", str(main), "-e", "stderr"], stdout=log, stderr=log
        )
    try:
        wait_for(process, started)
        yield Ports(started.port, lone_port)
    finally:
        end(process)
        shutil.rmtree(folder, ignore_errors=True)


def ask(port: int, host: str, path: str = "/members") -> tuple[int, str]:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", path, headers={**CURL, "Host": host})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()


def test_each_server_has_the_mode_and_routes_of_its_site(fleet: Ports) -> None:
    status, body = ask(fleet.port, "strict.example")

    assert (status, json.loads(body)["reason"]) == (401, "receipt_required")
    assert ask(fleet.port, "open.example") == (200, "open.example")
    assert ask(fleet.port, "www.strict.example")[0] == 401


def test_servers_without_a_site_follow_the_credential(fleet: Ports) -> None:
    assert ask(fleet.port, "unknown.example") == (200, "unknown.example")
    assert ask(fleet.port, "other.example") == (200, "_")


@pytest.mark.parametrize(
    "path", ["//open.example/members", "http://open.example/members", "/members?http://open.example/"]
)
def test_no_target_chooses_another_site(fleet: int, path: str) -> None:
    """An absolute target names the host for nginx too, so another server and its site respond."""
    status, body = ask(fleet.port, "strict.example", path)

    assert status in {401, 403} or body == "open.example"


def test_the_host_header_chooses_no_site(fleet: Ports) -> None:
    """The only server of an address serves every Host, also the name of a site in monitor mode."""
    assert ask(fleet.lone_port, "strict.example")[0] == 401
    assert ask(fleet.lone_port, "open.example")[0] == 401


def test_the_challenge_pages_calls_reach_the_servers_site(fleet: Ports) -> None:
    status, body = ask(fleet.port, "strict.example", "/.agentgate/v1/gateway/challenge")

    assert (status, "invalid_credential" in body) != (403, True)
    assert ask(fleet.port, "strict.example", "/.agentgate/sdk/v1/agentgate.js")[0] == 200
