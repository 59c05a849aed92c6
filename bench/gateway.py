"""The gateway check over HTTP at full work: credential, clearance, 30 rules, 200 trees, an event for each.

Processor time per check beside nginx answering `return 204` to the same requests, in turns; the time of an answer at
half and goodput at twice the greatest load; signed requests; what a site behind a real nginx keeps with `auth_request`.
Every check must have left its event; under overload some find no room. `python -m bench.gateway` prints it alone.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw

from bench import agent_signatures
from bench.gateway_service import SIGNED
from bench.nginx import free_port, nginx_program, running_nginx, wait_for
from bench.paced import Paced, paced, share_of
from bench.processor import kept_on, one_and_others, processor_s, processor_ticks, stolen_share
from tests.processes import environment

ROOT = Path(__file__).parents[1]
VISITORS = 5_000
CONNECTIONS = 32
# As many as the proxies of a large site hold, and of a very large one. What finds none free waits over there.
MANY_CONNECTIONS = (400, 1_600)
MOST_FILES = 16_384
SIGNED_PER_S = 1_000
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
    def accepted(self) -> int:
        """Requests that were not refused."""
        return self.requests - self.refused

    @property
    def good_per_s(self) -> float:
        """Requests a second that were not refused."""
        return self.per_s * self.accepted / self.requests


class Tally:
    """Counts the checks that must have left an event."""

    def __init__(self) -> None:
        self.least = 0
        self.open = 0
        # Of these some may have found no room for their event.
        self.overloaded = 0

    def add(self, done: Load | Paced) -> None:
        """Count what a client got decided; what was refused for lack of time leaves no event."""
        self.least += done.accepted
        # When wrk ends, each of its connections may have a question that it does not count.
        self.open += CONNECTIONS if isinstance(done, Load) else done.unanswered

    def compare(self, stored: int, failed: int) -> None:
        """Fail if an event is missing that was not counted as failed, or if there are more than questions."""
        asked = f"{self.least} checks and at most {self.open} more"
        assert self.least <= stored + failed <= self.least + self.open, f"{stored} + {failed} events of {asked}"
        assert failed <= self.overloaded, f"{failed} events found no room, {self.overloaded} came under overload"


def measure(*, seconds: int = SECONDS) -> dict[str, float | str]:
    """Return every figure; without nginx or wrk, why not."""
    if nginx_program() is None or shutil.which("wrk") is None:
        return {"skipped": "nginx or wrk is not installed"}
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # For the service, and for those who ask.
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, MOST_FILES)), hard))
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="agentgate-bench-") as name:
        with service(Path(name)) as running:
            figures: dict[str, float | str] = {**_beside_nginx(running, seconds, tally)}
            for connections in MANY_CONNECTIONS:
                figures |= _overload(running, connections, seconds=seconds, tally=tally)
            figures |= _signed(running, seconds, tally)
            figures |= _behind_nginx(running, "constant", seconds=seconds, tally=tally)
            figures |= _behind_nginx(running, "rendered", seconds=seconds, tally=tally)
        stored, failed = stored_events(running.folder), int((running.folder / "events-failed").read_text())
        tally.compare(stored, failed)
        figures |= {"events": stored, "overload_events_failed": failed / tally.overloaded}
    return figures


@contextmanager
def service(folder: Path, **settings: str) -> Iterator[Service]:
    """Run the service with its site and its visitors. All that it has to write is written when the block has ended."""
    chosen = environment(folder, settings)
    command = [sys.executable, "-m", "bench.gateway_service", str(VISITORS)]
    with subprocess.Popen(
        command, env=chosen, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, "the service did not start"
        yield Service(process.pid, int(port), Path(chosen["AGENTGATE_DATA_DIR"]))
        process.communicate(timeout=30)


def stored_events(folder: Path) -> int:
    """Count the events in the files of all days."""
    count = 0
    for path in (folder / "events").glob("*.db"):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        count += connection.execute("SELECT count(*) FROM event").fetchall()[0][0]
        connection.close()
    return count


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


def _beside_nginx(running: Service, seconds: int, tally: Tally) -> dict[str, float]:
    port = free_port()
    with running_nginx(ANSWER_204.format(port=port), port) as nginx_id:
        servers = {"check": (running.process_id, running.port), "nginx": (nginx_id, port)}
        figures = _processor(servers, running.folder / "requests.lua", seconds=seconds, tally=tally)
        rate = int(figures["checks_per_s"] / 2)
        figures |= _latency(servers, running, rate=rate, seconds=seconds, tally=tally)
    return figures


def _processor(servers: dict[str, tuple[int, int]], script: Path, *, seconds: int, tally: Tally) -> dict[str, float]:
    used_us: dict[str, list[float]] = {name: [] for name in servers}
    best = 0.0
    for number in range(ROUNDS + 1):
        for name, (process_id, listens) in servers.items():
            before_s = processor_s(process_id)
            done = load(listens, script, seconds=seconds)
            if name == "check":
                tally.add(done)
            # The first round only warms up: what is decided for the first time may take too long.
            if number:
                assert done.refused == 0, f"{done.refused} of {done.requests} requests to {name} were refused"
                used_us[name].append((processor_s(process_id) - before_s) * 1e6 / done.requests)
                best = max(best, done.per_s) if name == "check" else best
    check_us, nginx_us = min(used_us["check"]), min(used_us["nginx"])
    return {"check_us": check_us, "nginx_us": nginx_us, "ratio_to_nginx": check_us / nginx_us, "checks_per_s": best}


def _latency(
    servers: dict[str, tuple[int, int]], running: Service, *, rate: int, seconds: int, tally: Tally
) -> dict[str, float]:
    """Ask at a constant rate, in turns; the time of an answer counts from when its question was due.

    Each has its best round: a processor that others use too is away for longer than an answer takes. How much of it
    others had is said beside it, and what a server that does next to nothing takes.
    """
    rounds: dict[str, list[Paced]] = {name: [] for name in servers}
    before = processor_ticks()
    for name, (_, listens) in list(servers.items()) * ROUNDS:
        done = paced(listens, running.folder / "requests", rate=rate, seconds=seconds, connections=CONNECTIONS)
        rounds[name].append(done)
        if name == "check":
            tally.add(done)
    best = {name: min(several, key=lambda done: share_of(done.due_ms, 0.99)) for name, several in rounds.items()}
    check = best["check"]
    return {
        "half_load_per_s": check.asked_per_s,
        "half_load_p50_ms": share_of(check.due_ms, 0.5),
        "half_load_p99_ms": share_of(check.due_ms, 0.99),
        "client_late_p99_ms": share_of(check.late_ms, 0.99),
        "half_load_nginx_p99_ms": share_of(best["nginx"].due_ms, 0.99),
        "half_load_stolen": stolen_share(before),
    }


def _overload(running: Service, connections: int, *, seconds: int, tally: Tally) -> dict[str, float]:
    """Ask twice as much as can be answered, whatever the answers do, over connections that are full all the time.

    Who asks has a processor of its own, here and where it is found out how much can be answered: just before and just
    after, because a check costs more as the events of the day become more.
    """
    mine, others = one_and_others()
    everybody = ((running.process_id, mine), (os.getpid(), others))
    with kept_on(everybody):
        before = load(running.port, running.folder / "requests.lua", seconds=seconds)
        file, rate = running.folder / "requests", int(2 * before.per_s)
        done = paced(running.port, file, rate=rate, seconds=seconds, connections=connections)
        after = load(running.port, running.folder / "requests.lua", seconds=seconds)
    for each in (before, done, after):
        tally.add(each)
        tally.overloaded += each.accepted
    peak_per_s = max(before.per_s, after.per_s)
    return {
        f"overload_{connections}_asked": done.asked_per_s / peak_per_s,
        f"overload_{connections}_full": done.in_flight / connections,
        f"overload_{connections}_goodput": done.good_per_s / peak_per_s,
        f"overload_{connections}_p99_ms": share_of(done.sent_ms, 0.99),
    }


def _signed(running: Service, seconds: int, tally: Tally) -> dict[str, float]:
    """Check requests of an agent whose key is known; then such that count once, each of which waits for a commit."""
    used_us = []
    for number in range(ROUNDS + 1):
        before_s = processor_s(running.process_id)
        done = load(running.port, running.folder / "signed.lua", seconds=seconds)
        tally.add(done)
        if number:
            assert done.refused == 0, f"{done.refused} of {done.requests} signed requests were refused"
            used_us.append((processor_s(running.process_id) - before_s) * 1e6 / done.requests)
    before_s = processor_s(running.process_id)
    once = paced(running.port, running.folder / "signed-once", rate=SIGNED_PER_S, seconds=SIGNED // SIGNED_PER_S)
    assert once.accepted == SIGNED, f"{once.accepted} requests that count once were accepted"
    tally.add(once)
    once_us = (processor_s(running.process_id) - before_s) * 1e6 / once.accepted
    ed25519_us = agent_signatures.measure()["ed25519_us"]
    return {"signed_us": min(used_us), "signed_once_us": once_us, "ed25519_us": ed25519_us}


def _behind_nginx(running: Service, application: str, *, seconds: int, tally: Tally) -> dict[str, float]:
    """Compare a small application behind nginx with and without the check."""
    site, port = free_port(), free_port()
    secret = (running.folder / "secret").read_text()
    text = (running.folder / "requests.lua").read_text()
    scripts = {"open": running.folder / "open.lua", "account": running.folder / "account.lua"}
    for name, script in scripts.items():
        script.write_text(text.replace("GET /v1/gateway/check ", f"GET /{name}/ "))
    command = [sys.executable, "-m", "uvicorn", f"bench.sample_site:{application}", "--port", str(site)]
    with subprocess.Popen([*command, "--log-level", "error", "--no-access-log"], cwd=ROOT) as backend:
        try:
            wait_for(site)
            servers = PROTECTED.format(gate=running.port, site=site, port=port, secret=secret)
            with running_nginx(servers, port):
                best = dict.fromkeys(scripts, 0.0)
                for name, script in list(scripts.items()) * ROUNDS:
                    done = load(port, script, seconds=seconds)
                    best[name] = max(best[name], done.good_per_s)
                    if name == "account":
                        tally.add(done)
        finally:
            backend.terminate()
    return {
        f"{application}_open_per_s": best["open"],
        f"{application}_protected_per_s": best["account"],
        f"{application}_kept": best["account"] / best["open"],
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    for name, value in measure(seconds=parser.parse_args().seconds).items():
        print(f"{name:<27}{value:>11.2f}" if isinstance(value, float) else f"{name:<27}{value}", flush=True)


if __name__ == "__main__":
    main()
