"""Costs of a large installation over HTTP: `python -m bench.growth_http [PART ...]`.

`agentgate serve` runs with one worker and many rows, and another process asks it for gateway checks and `/healthz` all
the time. For each operation this prints how long its response took, and the longest concurrent wait of a check and of
`/healthz`. Time in which the machine ran other programs is subtracted (`run_queue.py`).
"""

import argparse
import asyncio
import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from agentgate.lib.clock import SystemClock
from agentgate.lib.limits import NETWORKS_PER_CHANGE, NETWORKS_PER_SITE
from bench.fairness import fairness, read
from bench.growth_jobs import jobs
from bench.growth_scene import Scene
from bench.large_installation import (
    ADDRESS,
    OWN_SECRETS,
    Installation,
    add_entries,
    add_rules,
    add_sites,
    check_of,
    install,
    rules_of,
    save_rules,
    secret_of,
    served,
    serving,
)
from bench.probe import HEAD, Probe, Waits, measured, show
from bench.processor import processor_s
from bench.run_queue import RunQueue
from bench.wire import Wire, connected
from tests.support.processes import AdminConnection, ServeProcess

SITES, USERS, ROWS = 20_000, 100_000, 1_000_000
# Changes of a second, and from how many connections.
CHANGES, WRITERS, LONGEST_S = 100, 8, 60.0


def resident_mb(process_id: int) -> float:
    status = Path(f"/proc/{process_id}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def start(folder: Path) -> None:
    """Print how long a start takes, its CPU time and memory."""
    print("| Installation | Ready (s) | CPU time (s) | Memory (MB) |\n| --- | ---: | ---: | ---: |")
    kinds: tuple[tuple[str, int, int, int], ...] = (
        ("one site", 0, 0, 0),
        (f"{SITES:,} sites", SITES, 0, 0),
        ("1,000 sites with 200 rules each", 1_000, 1_000, 0),
        ("1,000 sites, 100 of them with 1,000 list entries", 1_000, 0, 100),
    )
    for name, sites, with_rules, with_entries in kinds:
        installation = install(folder / f"{sites}-{with_rules}-{with_entries}")
        if sites:
            asyncio.run(add_sites(installation, sites))
        if with_rules:
            save_rules(installation)
            asyncio.run(add_rules(installation, with_rules))
        if with_entries:
            asyncio.run(add_entries(installation, with_entries, 1_000))
        runs = []
        for _ in range(3):
            with serving(installation.folder) as process:
                with RunQueue(process.process_id) as queue:
                    queued_s, cpu_s = queue.waited_s(), processor_s(process.process_id)
                runs.append((process.ready_s - queued_s, cpu_s, resident_mb(process.process_id)))
        ready_s, cpu_s, memory_mb = min(runs)
        print(f"| {name} | {ready_s:.1f} | {cpu_s:.1f} | {memory_mb:.0f} |", flush=True)


def changes(folder: Path) -> None:
    """Change one site of many, then 100 sites a second, and compare the active sites with the saved ones."""
    for name, sites, with_rules, with_entries in (
        (f"{SITES:,} sites", SITES, 0, 0),
        (f"{SITES:,} sites, 1,000 with 200 rules, 100 with 1,000 list entries", SITES, 1_000, 100),
    ):
        installation = install(folder / f"changes-{with_rules}")
        asyncio.run(add_sites(installation, sites))
        if with_rules:
            save_rules(installation)
            asyncio.run(add_rules(installation, with_rules))
            asyncio.run(add_entries(installation, with_entries, 1_000))
        with served(installation) as (process, probe), process.admin() as operator:
            print(f"\n{name}\n\n{HEAD}")
            measured("nothing", probe, lambda: time.sleep(2), 2)
            _single_changes(process, operator, installation, probe)
            many_changes(process, probe)


def _single_changes(process: ServeProcess, operator: AdminConnection, installation: Installation, probe: Probe) -> None:
    """Change one site at a time."""
    modes = itertools.cycle(("monitor", "enforce"))
    wire, late_ms = Wire(process.public_url), []

    def change_mode() -> None:
        mode = next(modes)
        assert operator.call("PATCH", "/v1/admin/sites/site_1", {"mode": mode}).status == 200
        late_ms.append(_late_ms(lambda: (wire.ask(check_of(secret_of(1), "/login"))[0] == 401) is (mode == "enforce")))

    measured("change of one site", probe, change_mode, 20)
    print(f"| active after the response | {max(late_ms):.1f} | | | |")
    revisions = itertools.count()

    def save() -> None:
        body = {"ruleSet": rules_of(200), "revision": next(revisions)}
        saved = operator.call("PUT", f"/v1/admin/sites/{installation.other_key}/rules", body)
        assert saved.status == 200, saved.body

    measured("200 rules of one site", probe, save)
    values = itertools.count()

    def add_entry() -> None:
        entry = {"kind": "address", "value": f"192.0.2.{next(values)}", "outcome": "block"}
        assert operator.call("POST", "/v1/admin/sites/site_150/list-entries", entry).status == 201

    measured("list entry", probe, add_entry)
    acts = itertools.cycle(("suspend", "reactivate"))

    def change_account() -> None:
        act = next(acts)
        body = {"reason": "unpaid"} if act == "suspend" else None
        done = operator.call("POST", f"/v1/admin/customers/{installation.acme}/{act}", body)
        assert done.status == 200, done.body

    measured("account with all sites suspended or reactivated", probe, change_account, 4)
    _network_changes(process, operator, probe)


def _late_ms(is_active: Callable[[], bool]) -> float:
    """Ask until a change is active; return when the last request before that was sent, 0 without one."""
    began_s, late_s = time.perf_counter(), 0.0
    while not is_active():
        late_s = time.perf_counter() - began_s
    return late_s * 1000


def _network_changes(process: ServeProcess, operator: AdminConnection, probe: Probe) -> None:
    """Add a visitor's network to a list of nearly as many as a site may have, and remove it again."""
    site, change = "/v1/admin/sites/site_3", "/v1/admin/sites/site_3/network-lists/many/networks"
    rule = {"name": "listed", "action": "block", "match": {"network_lists": ["many"]}}
    rules = {"version": "1", "rules": [rule], "default_action": "allow"}

    def send(method: str, path: str, body: dict[str, object]) -> None:
        done = operator.call(method, path, body)
        assert done.status == 200, done.body

    send("PUT", f"{site}/network-lists/many", {"source": "own"})
    for start in range(0, NETWORKS_PER_SITE, NETWORKS_PER_CHANGE):
        numbers = range(start + 1, min(start + NETWORKS_PER_CHANGE, NETWORKS_PER_SITE))
        send("POST", change, {"add": [f"10.{n >> 15}.{n >> 7 & 255}.{(n & 127) << 1}/31" for n in numbers]})
    send("PUT", f"{site}/rules", {"ruleSet": rules, "revision": 0})
    wire, late_ms = Wire(process.public_url), []

    def list_visitor() -> None:
        for field, is_blocked in (("add", True), ("remove", False)):
            send("POST", change, {field: [f"{ADDRESS}/32"]})
            late_ms.append(_late_ms(lambda: (wire.ask(check_of(secret_of(3)))[0] == 403) is is_blocked))  # noqa: B023

    measured(f"two changes of a list of {NETWORKS_PER_SITE:,} networks", probe, list_visitor)
    print(f"| active after the response | {max(late_ms):.1f} | | | |")
    modes = itertools.cycle(("monitor", "enforce"))
    measured("change of its site", probe, lambda: send("PATCH", site, {"mode": next(modes)}), 10)


def many_changes(process: ServeProcess, probe: Probe, seconds: float = LONGEST_S) -> tuple[Waits, list[int]]:
    """Change 100 sites a second from several connections; return the times, and the sites without their last change."""
    wanted: dict[int, str] = {}
    took_ms: list[float] = []
    began_s = time.perf_counter()

    def write(writer: int) -> None:
        chance = random.Random(writer)
        with process.admin() as operator:
            for turn in itertools.count():
                due_s = began_s + (turn * WRITERS + writer) / CHANGES
                if due_s > began_s + seconds:
                    return
                time.sleep(max(0.0, due_s - time.perf_counter()))
                # Sites of one writer, so that their order is known.
                number = chance.randrange(OWN_SECRETS // WRITERS) * WRITERS + writer + 1
                wanted[number] = chance.choice(("monitor", "enforce"))
                asked_s = time.perf_counter()
                changed = operator.call("PATCH", f"/v1/admin/sites/site_{number}", {"mode": wanted[number]})
                took_ms.append((time.perf_counter() - asked_s) * 1000)
                assert changed.status == 200, changed.body

    probe.take()
    cpu_s = processor_s(process.process_id)
    with ThreadPoolExecutor(WRITERS) as threads:
        list(threads.map(write, range(WRITERS)))
    lasted_s, cpu_s = time.perf_counter() - began_s, processor_s(process.process_id) - cpu_s
    waits = probe.take()
    with connected(process.public_url) as wire:
        lost = [
            number
            for number, mode in wanted.items()
            if (wire.ask(check_of(secret_of(number), "/login"))[0] == 401) is not (mode == "enforce")
        ]
    name = f"{len(took_ms) / lasted_s:.0f} changes a second for {lasted_s:.0f} s ({cpu_s / lasted_s:.0%} of a CPU)"
    show(name, statistics.median(took_ms), waits, f" {len(lost)} of {len(wanted)} sites differ from the last change")
    return waits, lost


def lists(folder: Path) -> None:
    """Read lists and statements in an installation with many rows of everything."""
    installation = install(folder / "lists")
    asyncio.run(add_sites(installation, SITES))
    asyncio.run(_add_rows(installation))
    with served(installation) as (process, probe):
        print(f"\n{SITES:,} sites, {USERS:,} users, {ROWS:,} charges, grants, sessions and audit entries\n\n{HEAD}")
        measured("nothing", probe, lambda: time.sleep(2), 2)
        for name, caller, path in _reads(installation):
            url, headers = (process.public_url, installation.owner) if caller == "owner" else (process.admin_url, None)
            measured(name, probe, partial(_read_once, url, headers, path), 3)


def _read_once(url: str, headers: dict[str, str] | None, path: str) -> None:
    """Read a path on a new connection: decoding megabytes takes longer than an idle one is kept."""
    with AdminConnection(url, headers) as connection:
        read(connection, path)


def _reads(installation: Installation) -> Iterator[tuple[str, str, str]]:
    """Yield the reads whose rows the installation has many of: name, caller, path."""
    site = f"/v1/console/sites/{installation.site_key}"
    yield "all sites, operator", "operator", "/v1/admin/sites"
    yield "page of sites, operator", "operator", "/v1/admin/sites?limit=50"
    yield "search of sites without a match", "operator", "/v1/admin/sites?limit=50&q=none"
    yield "all sites, customer", "owner", "/v1/console/sites"
    yield "all users", "operator", "/v1/admin/accounts"
    yield "search of customers without a match", "operator", "/v1/admin/customers?q=none"
    yield "suspended customers", "operator", "/v1/admin/customers?status=suspended"
    yield "customer's detail", "operator", f"/v1/admin/customers/{installation.acme}"
    yield "audit entries of an absent action", "owner", "/v1/console/audit?action=webhook"
    yield "operators' audit trail", "operator", "/v1/admin/audit"
    yield "statement of charges", "owner", f"{site}/agent-charges"
    yield "agent grants", "owner", f"{site}/agent-grants"
    yield "site detail with 10,000 ended credentials", "owner", site


async def _add_rows(installation: Installation) -> None:
    config, hot = installation.database("config"), installation.database("hot")
    scene, now_ms = Scene(config), SystemClock().now_ms()
    found = await config.one("SELECT id, number FROM site WHERE site_key = $1", installation.site_key)
    assert found is not None
    site_id, number = found
    await scene.copy("account", USERS, id="'acc_' || n", status="CASE WHEN n = 1 THEN 'suspended' ELSE 'active' END")
    people = {"id": "'usr_' || n", "email": "'u' || n || '@b.example'", "status": "'active'", "created_ms": "n"}
    await scene.insert("users", USERS, **people)
    members = {"account_id": "'acc_' || n", "user_id": "'usr_' || n", "role": "'owner'", "joined_ms": "n"}
    await scene.insert("membership", USERS, **members)
    ended = {
        "id": "'old_' || n",
        "site_id": f"'{site_id}'",
        "name": "'old'",
        "created_ms": "n",
        "revoked_ms": f"{now_ms} - n",
    }
    await scene.insert("credential", 10_000, **ended, secret_digest="CAST('old ' || n AS BLOB)")
    await scene.insert(
        "audit_entry",
        ROWS,
        time_ms="n",
        actor="'a'",
        actor_kind="CASE WHEN n % 1000 = 0 THEN 'operator' ELSE 'user' END",
        action="'member.role'",
        account_id=f"'{installation.acme}'",
        detail="'{}'",
    )
    await config.close()
    scene = Scene(hot)
    await scene.insert(
        "charge",
        ROWS,
        site_id=f"'{site_id}'",
        decision_id="'d' || n",
        agent="'a' || (n % 20)",
        keyid="'k'",
        source="'gateway'",
        currency="'EUR'",
        minor_units="1",
        charged_ms=f"{now_ms} - n",
    )
    await scene.insert(
        "agent_grant",
        ROWS,
        id="'g' || n",
        site=str(number),
        agent="'a'",
        keyid="'k'",
        action="'b'",
        handoff_id="'h'",
        uses="1",
        uses_left="1",
        created_ms="n",
        expires_ms=f"{2 * now_ms}",
    )
    await hot.close()


PARTS: dict[str, Callable[[Path], object]] = {
    "start": start,
    "changes": changes,
    "lists": lists,
    "fairness": fairness,
    "jobs": jobs,
}


def main() -> None:
    """Measure the parts, each with new data directories."""
    parser = argparse.ArgumentParser(description="Measure large installations over HTTP.")
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="Default: all.")
    for name in parser.parse_args().parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            PARTS[name](Path(folder))


if __name__ == "__main__":
    main()
