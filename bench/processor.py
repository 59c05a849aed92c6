"""Processor time per request of `/healthz`, beside nginx answering `return 204` in turns on the same machine."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.wire import Wire
from tests.processes import ServeProcess

CONNECTIONS = 8
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
# One process: that is also what is measured of the service.
NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off; keepalive_requests 100000000; keepalive_timeout 600;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; location / {{ return 204; }} }}
}}
"""


def measure_processor(process: ServeProcess, *, rounds: int, requests: int) -> dict[str, float] | None:
    """Return microseconds per request of both, in interleaved rounds; None without nginx."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        return None
    with _nginx(program) as (nginx_id, nginx_url):
        servers = {"agentgate": (process.process_id, process.public_url), "nginx": (nginx_id, nginx_url)}
        used_s = dict.fromkeys(servers, 0.0)
        for number in range(rounds + 1):
            for name, (process_id, url) in servers.items():
                round_s = _round(process_id, url, requests)
                # The first round only warms up.
                used_s[name] += round_s if number else 0.0
    return {name: seconds * 1e6 / (rounds * requests) for name, seconds in used_s.items()}


def _round(process_id: int, url: str, requests: int) -> float:
    wires = [Wire(url) for _ in range(CONNECTIONS)]
    try:
        before_s = processor_s(process_id)
        for _ in range(requests // CONNECTIONS):
            for wire in wires:
                wire.send(REQUEST)
            for wire in wires:
                wire.receive()
        return processor_s(process_id) - before_s
    finally:
        for wire in wires:
            wire.close()


def processor_s(process_id: int) -> float:
    """Return the processor time a process has used, in user and in kernel mode."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def _nginx(program: str) -> Iterator[tuple[int, str]]:
    with tempfile.TemporaryDirectory(prefix="agentgate-nginx-") as name, socket.socket() as probe:
        folder = Path(name)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
        process = subprocess.Popen([program, "-c", folder / "nginx.conf", "-p", folder], stderr=subprocess.DEVNULL)
        try:
            _wait_for(port)
            yield process.pid, f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(10)


def _wait_for(port: int) -> None:
    deadline_s = time.monotonic() + 5
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.01)
        else:
            return
