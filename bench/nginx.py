"""A real nginx with any servers: as one process, which is also what is measured of the service, or with workers."""

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

HEAD = """
daemon off; {processes} pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off; keepalive_requests 100000000; keepalive_timeout 600;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
"""
START_S = 30.0


def nginx_program() -> str | None:
    """Return where nginx is; None when it is not installed."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


@contextlib.contextmanager
def running_nginx(servers: str, port: int, *, workers: int = 0) -> Iterator[int]:
    """Run nginx with these `server` blocks for as long as the block does; yields its process ID.

    It is one process, or a parent with so many workers.
    """
    program = nginx_program()
    assert program is not None
    with tempfile.TemporaryDirectory(prefix="agentgate-nginx-") as name:
        folder = Path(name)
        # Workers of the superuser's nginx would run as another user, who cannot come in here.
        processes = f"worker_processes {workers}; user root;" if workers else "master_process off;"
        (folder / "nginx.conf").write_text(HEAD.format(folder=folder, processes=processes) + servers + "}\n")
        process = subprocess.Popen([program, "-c", folder / "nginx.conf", "-p", folder], stderr=subprocess.DEVNULL)
        try:
            wait_for(port)
            yield process.pid
        finally:
            process.terminate()
            process.wait(10)


def wait_for(port: int) -> None:
    """Wait until the port accepts connections."""
    deadline_s = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.01)
        else:
            return
