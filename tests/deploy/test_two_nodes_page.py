"""docs/databases.md, followed to the letter: real PostgreSQL, Redis, nginx, Prometheus and two nodes.

A temporary folder replaces `/`, ports are free ones, and systemd does not run: `sudo`, `apt-get` and `systemctl` are
replaced by scripts. The script for `systemctl` starts the commands of the unit files.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ports import free_ports
from tests.support.servers import postgres_server, redis_server

pytestmark = pytest.mark.timeout(300)

ROOT = Path(__file__).parents[2]
PORTS = ("8080", "8081", "8090", "8091", "443", "80", "9090")
FOLDERS = re.compile(r"(?<![\w.])/(etc/(?:agentgate|nginx|prometheus|systemd)|var/(?:backups|lib|log)|opt)(?=[/\s])")
SUDO = """#!/bin/sh
[ "$1" = -u ] && shift 2
exec "$@"
"""
# Packages that the page installs must be present already; our own package is a link to the code under test.
APT_GET = "#!/bin/sh\n"
AGENTGATE = '#!/bin/sh\nexec {python} -m agentgate "$@"\n'
SYSTEMCTL = '''#!{python}
"""Starts what a unit file says, as far as this page needs it."""
import os, pathlib, shlex, subprocess, sys
ROOT = pathlib.Path({root!r})
words = [word for word in sys.argv[2:] if not word.startswith("-")]
def start(name, command, env):
    with open(ROOT / f"{{name}}.log", "ab") as log:
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT,
                                   start_new_session=True)
    with open(ROOT / "started", "a") as started:
        started.write(f"{{process.pid}}\\n")
for name in words:
    env = {{key: value for key, value in os.environ.items() if not key.startswith("AGENTGATE_")}}
    if name == "nginx":
        start(name, [{nginx!r}, "-c", str(ROOT / "nginx.conf"), "-g", "daemon off;"], env)
    elif name == "prometheus":
        start(name, ["prometheus", f"--config.file={{ROOT}}/etc/prometheus/prometheus.yml",
                     f"--storage.tsdb.path={{ROOT}}/tsdb", "--web.listen-address=127.0.0.1:{prometheus}"], env)
    else:
        unit, _, instance = name.partition("@")
        credentials = ROOT / f"credentials-{{instance}}"
        credentials.mkdir(mode=0o700)
        for line in (ROOT / f"etc/systemd/system/{{unit}}@.service").read_text().splitlines():
            key, _, value = line.replace("%i", instance).replace("%d", str(credentials)).partition("=")
            if key == "Environment":
                env.update([value.split("=", 1)])
            elif key == "EnvironmentFile":
                env.update(each.split("=", 1) for each in pathlib.Path(value).read_text().split())
            elif key == "LoadCredential":
                (credentials / value.partition(":")[0]).write_bytes(pathlib.Path(value.partition(":")[2]).read_bytes())
            elif key == "ExecStart":
                command = shlex.split(value)
        start(name, command, env)
'''
NGINX = """
pid {root}/nginx.pid; error_log {root}/nginx-error.log;
events {{ worker_connections 256; }}
http {{ include {root}/etc/nginx/conf.d/*.conf; }}
"""


class Machine:
    """A folder that replaces `/`, with scripts for programs that need a whole machine."""

    def __init__(self, root: Path, database: Path, redis_port: str) -> None:
        self.root = root
        self._ports = dict(zip(PORTS, map(str, free_ports(len(PORTS))), strict=True)) | {"6379": redis_port}
        self._database = database
        for folder in (
            "etc/nginx/conf.d",
            "etc/prometheus",
            "etc/systemd/system",
            "var/backups",
            "var/log/nginx",
            "bin",
        ):
            (root / folder).mkdir(parents=True)
        (root / "opt/agentgate/bin").mkdir(parents=True)
        nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin")
        assert nginx is not None
        filled = {"python": sys.executable, "root": str(root), "nginx": nginx, "prometheus": self._ports["9090"]}
        self._program("sudo", SUDO)
        self._program("apt-get", APT_GET)
        self._program("systemctl", SYSTEMCTL.format(**filled))
        self._program("nginx", f'#!/bin/sh\nexec {nginx} -c {root}/nginx.conf "$@"\n')
        self._program("agentgate", AGENTGATE.format(**filled))
        shutil.copy(root / "bin" / "agentgate", root / "opt/agentgate/bin/agentgate")
        (root / "nginx.conf").write_text(NGINX.format(**filled))
        for path in (ROOT / "deploy").rglob("*"):
            if path.is_file():
                copy = root / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(self.here(path.read_text()))
        # Building the package takes minutes; tests/soak/test_debian_package.py does it.
        (root / "deploy/debian/build").write_text("#!/bin/sh\n")
        (root / "deploy/debian/build").chmod(0o755)

    def _program(self, name: str, text: str) -> None:
        path = self.root / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def here(self, text: str) -> str:
        """Return a text in which this machine's folders, ports and database replace the printed ones."""
        text = FOLDERS.sub(rf"{self.root}/\1", text)
        text = text.replace("@127.0.0.1/agentgate", f"@/agentgate?host={self._database}")
        # IPv6 may not be here.
        text = re.sub(r"^ *listen \[::\].*\n", "", text, flags=re.MULTILINE)
        return re.sub(
            r"(?<=127\.0\.0\.1:)\d+|(?<=gate\.example\.com:)443|(?<=listen )\d+",
            lambda at: self._ports.get(at[0], at[0]),
            text,
        ).replace("https://gate.example.com/readyz", f"https://gate.example.com:{self._ports['443']}/readyz")

    def follow(self, page: str) -> str:
        """Run every line of a page in one shell; return what was printed."""
        lines = [self.here(block) for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)]
        path = f"{self.root / 'bin'}{os.pathsep}{os.environ['PATH']}{os.pathsep}/usr/sbin"
        environ = {name: text for name, text in os.environ.items() if not name.startswith("AGENTGATE_")}
        python_path = os.pathsep.join(str(ROOT / each) for each in ("src", "packages/python-client/src"))
        environ |= {"PATH": path, "PGHOST": str(self._database), "PGUSER": "postgres", "PYTHONPATH": python_path}
        environ |= {"COLUMNS": "200", "AGENTGATE_DATA_DIR": str(self.root / "var/lib/operator")}
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", "\n".join(lines)],
            cwd=self.root, env=environ, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        logs = "".join(path.read_text()[-1500:] for path in self.root.glob("*.log"))
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:] + logs
        return done.stdout

    def end(self) -> None:
        """End what the page started."""
        started = self.root / "started"
        for process_id in started.read_text().split() if started.exists() else []:
            for number in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(int(process_id), number)
                except ProcessLookupError:
                    break


def test_the_page_leads_to_two_nodes_with_a_front_metrics_and_a_backup(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "databases.md").read_text()
    [packages] = re.findall(r"apt-get install -y ([a-z][^\n.]+)\n", page)
    shown = subprocess.run(["dpkg-query", "--show", *packages.split()], capture_output=True, text=True, check=False)
    if shown.returncode != 0:
        pytest.skip(f"not installed: {shown.stderr.strip()}")
    with postgres_server() as postgres, redis_server() as redis:
        machine = Machine(tmp_path, postgres.socket.parent, redis.url.rpartition(":")[2].partition("/")[0])
        try:
            told = machine.follow(page)
        finally:
            machine.end()

    # Both nodes, and one of them through the front.
    assert told.count('"status":"ready"') == 3, told
    [counted] = [json.loads(each) for each in re.findall(r"\{\"status\":\"success\".*?\}\]\}\}", told)]
    assert "site_shop1" in told
    assert "agentgate.dump" in told
    assert counted["status"] == "success"
    assert counted["data"]["result"][0]["value"][1] == "2", told
