"""CPU time that protection costs a site behind nginx: total CPU time per request, at one constant rate.

`python -m bench.adapter` alternates between nginx alone, nginx with a bare `auth_request` to an nginx that returns 204,
and nginx with the printed configuration and the real gate. Then it compares denials behind the printed configuration
with allowed requests of the same clients: a blocked HTTP client, and a challenge page.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from agentgate.lib.records import to_builtins
from agentgate_tools.adapters.render import Installation, render
from bench.decide import bench_rules
from bench.gateway_site import SITE_KEY, BenchSite, gateway
from bench.load import Load, load, statuses_of, write_requests
from bench.nginx import nginx_program, running_nginx, wait_for
from bench.processor import settled_s
from bench.sample_site import PAGE
from tests.population.visitors import ORIGIN, population
from tests.support.ports import free_port
from tests.support.processes import ServeProcess

ROOT = Path(__file__).parents[1]
SEED, VISITORS = 27, 500
RATE, SECONDS, ROUNDS = 300, 5, 3
# A header contains the visitor's own address, as behind a provider's edge. nginx rewrites that header.
REAL_ADDRESS = "set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;\n"
ANSWER_204 = "server {{ listen 127.0.0.1:{port}; location / {{ return 204; }} }}\n"
FILE = "root {folder}; try_files /page.html =404;"
PROXIED = (
    'proxy_pass http://site; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;'
)
# An upstream is a name and needs no server to be there.
PLAIN = """
upstream site {{ server 127.0.0.1:{site}; keepalive 32; }}
upstream gate {{ server 127.0.0.1:{gate}; keepalive 32; }}
server {{
    listen 127.0.0.1:{port};
    location / {{ {check} {content} }}
    location = /_check {{
        internal; proxy_pass http://gate; proxy_http_version 1.1; proxy_set_header Connection "";
        proxy_pass_request_body off; proxy_set_header Content-Length "";
    }}
}}
"""
# The paths of a program and of a browser, where they are allowed and where they are denied.
REFUSALS = {"allowed": "/open", "block": "/blocked", "opened": "/", "page": "/products/1"}
BLOCKED = {"name": "blocked", "match": {}, "action": "block", "routes": ["/blocked"]}
PROGRAM = "User-Agent: stock-mirror/2.1 (+https://mirror.example/about)\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n"
SITES = {"file": "a static file", "constant": "a constant ASGI application", "fastapi": "a page in FastAPI"}


class Way(NamedTuple):
    """A front nginx, and all processes that take part behind it."""

    port: int
    processes: dict[str, int]


class Cost(NamedTuple):
    """Microseconds of a request, by process, in one way of asking for it."""

    site: str
    way: str
    used_us: dict[str, float]
    kept: float
    statuses: dict[int, int]

    @property
    def total_us(self) -> float:
        """All processes together."""
        return sum(self.used_us.values())

    def row(self) -> str:
        """Return a line of the table."""
        parts = ", ".join(f"{name} {value:.0f}" for name, value in self.used_us.items())
        statuses = ", ".join(f"{count} x {status}" for status, count in self.statuses.items())
        return f"{self.site:<10}{self.way:<9}{self.total_us:9.0f}{self.kept:8.0%}   {parts:<38}{statuses}"


def measure(sites: tuple[str, ...] = tuple(SITES), *, rate: int = RATE, seconds: int = SECONDS) -> Iterator[Cost]:
    """Measure each site in each way."""
    with tempfile.TemporaryDirectory(prefix="agentgate-bench-") as name, contextlib.ExitStack() as opened:
        folder = Path(name)
        (folder / "page.html").write_bytes(PAGE)
        # nginx reads the file as another user where it is started by the first one.
        folder.chmod(0o755)
        process, bench_site = opened.enter_context(gateway(folder / "service"))
        bare = free_port()
        bare_id = opened.enter_context(running_nginx(ANSWER_204.format(port=bare), bare))
        requests = folder / "requests"
        write_requests(requests, _visits(bench_site))
        for site in sites:
            with _backend(site) as backend, contextlib.ExitStack() as ways:
                configurations = _configurations(site, backend, folder, (bare, process.public_url, bench_site.secret))
                gates = {"plain": {}, "bare": {"gate": bare_id}, "printed": {"gate": process.process_id}}
                running = {}
                for way, (port, text) in configurations.items():
                    nginx_id = ways.enter_context(running_nginx(REAL_ADDRESS + text, port))
                    behind = {} if backend is None else {"site": backend[0]}
                    running[way] = Way(port, {"nginx": nginx_id, **behind, **gates[way]})
                yield from _compare(site, running, requests, rate=rate, seconds=seconds)


def measure_refusals(*, rate: int = RATE, seconds: int = SECONDS) -> Iterator[Cost]:
    """Measure denials and allowed requests of the same clients."""
    with tempfile.TemporaryDirectory(prefix="agentgate-bench-") as name, contextlib.ExitStack() as opened:
        folder = Path(name)
        (folder / "page.html").write_bytes(PAGE)
        folder.chmod(0o755)
        process, bench_site = opened.enter_context(gateway(folder / "service"))
        _block(process)
        # No bare gate runs: its port stays free.
        port, text = _configurations("file", None, folder, (free_port(), process.public_url, bench_site.secret))[
            "printed"
        ]
        nginx_id = opened.enter_context(running_nginx(REAL_ADDRESS + text, port))
        way = Way(port, {"nginx": nginx_id, "gate": process.process_id})
        files = {kind: folder / kind for kind in REFUSALS}
        for kind, file in files.items():
            write_requests(file, _refused(kind))
        yield from _compare("refusals", dict.fromkeys(REFUSALS, way), files, rate=rate, seconds=seconds)


def _block(process: ServeProcess) -> None:
    """Add a rule that blocks a path to the rules of the bench."""
    with process.admin() as admin:
        path = f"/v1/admin/sites/{SITE_KEY}/rules"
        rules = to_builtins(bench_rules())
        revision = admin.call("GET", path).body["revision"]
        changed = {"ruleSet": {**rules, "rules": [*rules["rules"], BLOCKED]}, "revision": revision}
        assert admin.call("PUT", path, changed).status == 200


def _refused(kind: str) -> Iterator[bytes]:
    """Yield requests of visitors without a clearance on the path of a kind."""
    for visitor in population(SEED, VISITORS, 4):
        host, *others = visitor.first_navigation().headers
        lines = f"{host[0]}: {host[1]}\r\nX-Forwarded-For: {visitor.address}\r\n"
        lines += PROGRAM if kind in {"allowed", "block"} else "".join(f"{name}: {value}\r\n" for name, value in others)
        yield f"GET {REFUSALS[kind]} HTTP/1.1\r\n{lines}\r\n".encode()


def _compare(
    site: str, ways: dict[str, Way], requests: Path | dict[str, Path], *, rate: int, seconds: int
) -> Iterator[Cost]:
    count = rate * seconds
    used_s = {way: dict.fromkeys(each.processes, 0.0) for way, each in ways.items()}
    loads: dict[str, list[Load]] = {way: [] for way in ways}
    for number in range(ROUNDS + 1):
        for way, (port, processes) in ways.items():
            before_s = {name: settled_s(process_id) for name, process_id in processes.items()}
            done = load(port, requests if isinstance(requests, Path) else requests[way], count, rate=rate)
            after_s = {name: settled_s(process_id) for name, process_id in processes.items()}
            # The first round only warms up.
            if number:
                loads[way].append(done)
                for name in processes:
                    used_s[way][name] += after_s[name] - before_s[name]
    totals = {way: sum(used.values()) for way, used in used_s.items()}
    first = next(iter(totals.values()))
    for way, used in used_s.items():
        used_us = {name: value * 1e6 / (count * ROUNDS) for name, value in used.items()}
        yield Cost(site, way, used_us, first / totals[way], statuses_of(loads[way]))


def _visits(site: BenchSite) -> Iterator[bytes]:
    """Yield requests of visitors with a clearance as they arrive at nginx."""
    for visitor in population(SEED, VISITORS, 4):
        clearance = site.clearance(visitor)
        for page in range(1, 4):
            request = visitor.navigation(page, clearance)
            (host, *others), target = request.headers, request.url.removeprefix(ORIGIN)
            headers = (host, ("X-Forwarded-For", visitor.address), *others)
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
            yield f"GET {target} HTTP/1.1\r\n{lines}\r\n".encode()


def _configurations(
    site: str, backend: tuple[int, int] | None, folder: Path, gates: tuple[int, str, str]
) -> dict[str, tuple[int, str]]:
    """Return port and configuration of nginx for each way."""
    bare, service, secret = gates
    content = FILE.format(folder=folder) if backend is None else PROXIED
    upstream = bare if backend is None else backend[1]
    plain, checked, printed = free_port(), free_port(), free_port()
    installation = Installation(
        site=SITE_KEY,
        service=service,
        origin=ORIGIN,
        upstream=f"http://127.0.0.1:{upstream}",
        secret=secret,
        listen=f"127.0.0.1:{printed}",
        mode="enforce",
    )
    text = render("nginx", installation)
    if backend is None:
        # A site whose files nginx itself serves has this instead of the upstream.
        handing_on = f"proxy_pass http://{SITE_KEY};"
        assert text.count(handing_on) == 1, f"{site}: the printed configuration hands on in another way"
        text = text.replace(handing_on, content)
    common = {"site": upstream, "gate": bare, "content": content}
    return {
        "plain": (plain, PLAIN.format(port=plain, check="", **common)),
        "bare": (checked, PLAIN.format(port=checked, check="auth_request /_check;", **common)),
        "printed": (printed, text),
    }


@contextlib.contextmanager
def _backend(site: str) -> Iterator[tuple[int, int] | None]:
    """Run the application of a site; yields its process ID and port, or None for a file."""
    if site == "file":
        yield None
        return
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        f"bench.sample_site:{site}",
        "--port",
        str(port),
        "--log-level",
        "error",
    ]
    factory = ["--factory"] if site == "fastapi" else []
    with subprocess.Popen([*command, "--no-access-log", *factory], cwd=ROOT) as process:
        try:
            wait_for(port)
            yield process.pid, port
        finally:
            process.terminate()


def figures() -> dict[str, float | str]:
    """Return the measurements for `make bench`, or the reason to skip if nginx is not installed."""
    if nginx_program() is None:
        return {"skipped": "nginx is not installed"}
    found: dict[str, float | str] = {}
    for cost in measure():
        assert set(cost.statuses) == {200}, cost.row()
        found |= {f"{cost.site}_{cost.way}_us": cost.total_us, f"{cost.site}_{cost.way}_kept": cost.kept}
        if cost.site == "file":
            found[f"nginx_{cost.way}_us"] = cost.used_us["nginx"]
    # The CPU time that an allowed request adds in nginx itself, relative to the time that a bare auth_request adds.
    plain, bare, printed = (float(found[f"nginx_{way}_us"]) for way in ("plain", "bare", "printed"))
    found["nginx_share_ratio"] = (printed - plain) / (bare - plain)
    refused = {cost.way: cost.total_us for cost in measure_refusals()}
    found |= {f"refusal_{way}_us": value for way, value in refused.items()}
    found |= {
        "block_ratio": refused["block"] / refused["allowed"],
        "page_ratio": refused["page"] / refused["opened"],
    }
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", action="append", choices=SITES, help="may be given again; all without")
    parser.add_argument("--refusals", action="store_true", help="only what refusing costs")
    parser.add_argument("--rate", type=int, default=RATE, help="requests a second")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="of each round")
    given = parser.parse_args()
    print(f"{'site':<10}{'way':<9}{'us':>9}{'kept':>8}   {'by process':<38}statuses")
    asked = {"rate": given.rate, "seconds": given.seconds}
    compared = measure_refusals(**asked)
    if not given.refusals:
        compared = chain(measure(tuple(given.site or SITES), **asked), compared)
    for cost in compared:
        print(cost.row(), flush=True)


if __name__ == "__main__":
    main()
