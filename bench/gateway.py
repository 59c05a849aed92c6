"""The gateway check over HTTP at full work: credential, clearance, 30 rules, 200 trees, an event for each.

Processor time per check beside nginx answering `return 204` to the same requests, in turns; the time of an answer at
half of the greatest load; and what a site behind a real nginx keeps of its throughput with `auth_request`.
`python -m bench.gateway [--seconds N]` prints it alone.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.nginx import free_port, nginx_program, running_nginx, wait_for
from bench.processor import processor_s
from tests.processes import environment

ROOT = Path(__file__).parents[1]
VISITORS = 5_000
CONNECTIONS = 32
# Each asks again as soon as it is answered: far more than the service can do.
MANY_CONNECTIONS = 1_000
ROUNDS = 3
SECONDS = 3
ANSWER_204 = "server {{ listen 127.0.0.1:{port}; location / {{ return 204; }} }}\n"
# No body to the check, the visitor's headers passed on, and connections that stay open: for less than the five seconds
# after which the service closes one, or nginx would now and then use one that is just being closed.
PROTECTED = """
upstream gate {{ server 127.0.0.1:{gate}; keepalive 64; keepalive_timeout 3s; }}
upstream site {{ server 127.0.0.1:{site}; keepalive 64; keepalive_timeout 3s; }}
server {{
    listen 127.0.0.1:{port};
    location /open/ {{ proxy_pass http://site; proxy_http_version 1.1; proxy_set_header Connection ""; }}
    location /account/ {{
        auth_request /_check;
        proxy_pass http://site; proxy_http_version 1.1; proxy_set_header Connection "";
    }}
    location = /_check {{
        internal;
        proxy_pass http://gate/v1/gateway/check; proxy_http_version 1.1; proxy_set_header Connection "";
        proxy_pass_request_body off; proxy_set_header Content-Length "";
        proxy_set_header Authorization "Bearer {secret}";
        proxy_set_header X-Original-Method $request_method;
        proxy_set_header X-Original-URL https://shop.example$request_uri;
        proxy_set_header X-Original-Address $http_x_original_address;
    }}
}}
"""


class Service(NamedTuple):
    """A running service: its process, where it listens, and where its requests are."""

    process_id: int
    port: int
    folder: Path


class Load(NamedTuple):
    """What wrk saw."""

    requests: int
    refused: int
    per_s: float
    p99_ms: float

    @property
    def good_per_s(self) -> float:
        """Requests a second that were not refused."""
        return self.per_s * (1 - self.refused / self.requests)


def measure(*, seconds: int = SECONDS) -> dict[str, float | str]:
    """Return every figure; without nginx or wrk, why not."""
    if nginx_program() is None or shutil.which("wrk") is None:
        return {"skipped": "nginx or wrk is not installed"}
    with service() as running:
        figures: dict[str, float | str] = {**_processor(running, seconds)}
        peak_per_s = float(figures["checks_per_s"])
        figures |= _latency(running, rate=int(peak_per_s / 2), seconds=seconds)
        overload = load(running.port, running.folder / "requests.lua", seconds=seconds, connections=MANY_CONNECTIONS)
        figures |= {"overload_goodput": overload.good_per_s / peak_per_s, "overload_p99_ms": overload.p99_ms}
        figures |= _behind_nginx(running, seconds)
    return figures


@contextmanager
def service(**settings: str) -> Iterator[Service]:
    """Run the service with its site and its visitors."""
    with tempfile.TemporaryDirectory(prefix="agentgate-bench-") as folder:
        chosen = environment(Path(folder), settings)
        command = [sys.executable, "-m", "bench.gateway_service", str(VISITORS)]
        with subprocess.Popen(
            command, env=chosen, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            assert port, "the service did not start"
            yield Service(process.pid, int(port), Path(chosen["AGENTGATE_DATA_DIR"]))
            process.communicate(timeout=30)


def load(port: int, script: Path, *, seconds: int, connections: int = CONNECTIONS) -> Load:
    """Send as much as wrk can on so many connections."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script)]
    command.append(f"http://127.0.0.1:{port}/")
    text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds + 30).stdout
    done = re.search(r"(\d+) requests in", text)
    per_s = re.search(r"Requests/sec:\s+([\d.]+)", text)
    assert done is not None, text
    assert per_s is not None, text
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    slow = re.search(r"99%\s+([\d.]+)(us|ms|s)", text)
    assert slow is not None, text
    p99_ms = float(slow[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[slow[2]]
    return Load(int(done[1]), int(refused[1]) if refused else 0, float(per_s[1]), p99_ms)


def _processor(running: Service, seconds: int) -> dict[str, float]:
    port = free_port()
    script = running.folder / "requests.lua"
    with running_nginx(ANSWER_204.format(port=port), port) as nginx_id:
        servers = {"check": (running.process_id, running.port), "nginx": (nginx_id, port)}
        used_us: dict[str, list[float]] = {name: [] for name in servers}
        best = 0.0
        for number in range(ROUNDS + 1):
            for name, (process_id, listens) in servers.items():
                before_s = processor_s(process_id)
                done = load(listens, script, seconds=seconds)
                assert done.refused == 0, f"{done.refused} of {done.requests} requests to {name} were refused"
                # The first round only warms up.
                if number:
                    used_us[name].append((processor_s(process_id) - before_s) * 1e6 / done.requests)
                    best = max(best, done.per_s) if name == "check" else best
    check_us, nginx_us = min(used_us["check"]), min(used_us["nginx"])
    return {"check_us": check_us, "nginx_us": nginx_us, "ratio_to_nginx": check_us / nginx_us, "checks_per_s": best}


def _latency(running: Service, *, rate: int, seconds: int) -> dict[str, float]:
    """Ask at a constant rate; the time of an answer counts from when its question was due."""
    command = [sys.executable, "-m", "bench.paced", str(running.port), str(running.folder / "requests")]
    done = subprocess.run(
        [*command, str(rate), str(seconds)], check=True, capture_output=True, cwd=ROOT, text=True, timeout=60
    )
    p50_ms, p99_ms, sent_per_s = (float(text) for text in done.stdout.split())
    return {"half_load_per_s": sent_per_s, "half_load_p50_ms": p50_ms, "half_load_p99_ms": p99_ms}


def _behind_nginx(running: Service, seconds: int) -> dict[str, float]:
    """Compare a small application behind nginx with and without the check."""
    site, port = free_port(), free_port()
    secret = (running.folder / "secret").read_text()
    text = (running.folder / "requests.lua").read_text()
    scripts = {"open": running.folder / "open.lua", "account": running.folder / "account.lua"}
    for name, script in scripts.items():
        script.write_text(text.replace("GET /v1/gateway/check ", f"GET /{name}/ "))
    command = [sys.executable, "-m", "uvicorn", "bench.sample_site:app", "--port", str(site), "--log-level", "error"]
    with subprocess.Popen([*command, "--no-access-log"], cwd=ROOT) as backend:
        try:
            wait_for(site)
            servers = PROTECTED.format(gate=running.port, site=site, port=port, secret=secret)
            with running_nginx(servers, port):
                best = {name: _best(port, script, seconds) for name, script in scripts.items()}
        finally:
            backend.terminate()
    return {"open_per_s": best["open"], "protected_per_s": best["account"], "kept": best["account"] / best["open"]}


def _best(port: int, script: Path, seconds: int) -> float:
    rounds = [load(port, script, seconds=seconds) for _ in range(ROUNDS)]
    return max(each.good_per_s for each in rounds)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    for name, value in measure(seconds=parser.parse_args().seconds).items():
        print(f"{name:<20}{value:>12.2f}" if isinstance(value, float) else f"{name:<20}{value}", flush=True)


if __name__ == "__main__":
    main()
