"""A Redis Cluster of real servers on the loopback: three masters, each with a replica. Any of them can be killed."""

import contextlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ports import free_ports

FORMED_S = 60.0
# How long a master may be silent before its replica takes over.
NODE_TIMEOUT_MS = 1_500


class RedisClusterServers:
    """Six servers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.ports = free_ports(6, neighbor=10_000)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        """The address of one of them; the client finds the others."""
        return f"redis+cluster://127.0.0.1:{self.ports[-1]}"

    def start(self) -> None:
        """Start the servers and let them form a cluster, replicas in step."""
        for port in self.ports:
            self._start(port)
        hosts = [f"127.0.0.1:{port}" for port in self.ports]
        self._wait(lambda: all(self.say(port, "PING") == "PONG" for port in self.ports))
        done = subprocess.run(
            ["redis-cli", "--cluster", "create", *hosts, "--cluster-replicas", "1", "--cluster-yes"],
            capture_output=True,
            check=False,
            timeout=FORMED_S,
        )
        assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
        self._wait(lambda: all("cluster_state:ok" in self.say(port, "CLUSTER", "INFO") for port in self.ports))
        # A replica that was never in step does not take over.
        self._wait(
            lambda: sum("master_link_status:up" in self.say(port, "INFO", "replication") for port in self.ports) == 3
        )

    def masters(self) -> list[int]:
        """Return the ports of the masters."""
        return [port for port in self._processes if "role:master" in self.say(port, "INFO", "replication")]

    def kill(self, port: int) -> None:
        """End a server at once."""
        process = self._processes.pop(port)
        process.send_signal(signal.SIGKILL)
        process.wait(10)

    def restart(self, port: int) -> None:
        """Start a server that was killed; it becomes a replica of the server that took over."""
        self._start(port)
        self._wait(lambda: "master_link_status:up" in self.say(port, "INFO", "replication"))

    def close(self) -> None:
        """End all of them."""
        for port in list(self._processes):
            self.kill(port)

    def say(self, port: int, *words: str) -> str:
        """Send a command to one server; return nothing while it does not respond."""
        done = subprocess.run(["redis-cli", "-p", str(port), *words], capture_output=True, check=False, timeout=10)
        return done.stdout.decode().strip()

    def _start(self, port: int) -> None:
        folder = self._folder / str(port)
        folder.mkdir(exist_ok=True)
        options = {
            "port": port,
            "bind": "127.0.0.1",
            "dir": folder,
            "save": "",
            "appendonly": "no",
            "cluster-enabled": "yes",
            "cluster-node-timeout": NODE_TIMEOUT_MS,
        }
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        with (folder / "log").open("ab") as log:
            self._processes[port] = subprocess.Popen(
                ["redis-server", *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _wait(self, holds: object) -> None:
        deadline_s = time.monotonic() + FORMED_S
        while not holds():  # type: ignore[operator]
            assert time.monotonic() < deadline_s, "the cluster did not form"
            time.sleep(0.05)


@contextlib.contextmanager
def redis_cluster(folder: Path) -> Iterator[RedisClusterServers]:
    """Run a cluster for as long as the block; skip the test where there is no Redis."""
    if shutil.which("redis-server") is None or shutil.which("redis-cli") is None:
        pytest.skip("Redis: there is no redis-server or no redis-cli on the PATH")
    servers = RedisClusterServers(folder)
    try:
        servers.start()
        yield servers
    finally:
        servers.close()
