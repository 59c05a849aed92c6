"""A data directory with two customers and many rows of everything, and the service on it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from agentgate.events.decision_ids import id_day
from agentgate.events.records import Event
from agentgate.lib.clock import HOUR_MS, SystemClock
from agentgate.lib.settings.schema import read_settings
from agentgate.storage.sqlite.database import SqliteDatabase
from bench.growth_scene import Scene
from bench.probe import Probe
from tests.support.cast import cast
from tests.support.events import new_event
from tests.support.gateway import ORIGIN, VISITOR
from tests.support.processes import ServeProcess, environment
from tests.support.service import running_service
from tests.support.two_accounts import headers_of

# Sites whose secrets are known.
OWN_SECRETS = 200
# Of the visitor of all checks.
ADDRESS = "203.0.113.20"
SETTINGS = {"AGENTGATE_WORKERS": "1", "AGENTGATE_DRAIN_SECONDS": "0", "AGENTGATE_WEBHOOK_PRIVATE_HOSTS": "localhost"}
ACTIONS = {
    "actions": {"login": {"browserRequired": True}},
    "routes": [{"method": "GET", "path": "/login", "action": "login"}],
}
EVENTS, EVENTS_AT_ONCE, EVENTS_SPAN_MS = 100_000, 5_000, 6 * HOUR_MS
LONGEST_START_S, START_POLL_S = 300.0, 0.05


@contextmanager
def serving(folder: Path) -> Iterator[ServeProcess]:
    """Run the service; `/readyz` is requested rarely until it is ready."""
    with ServeProcess(folder, **SETTINGS) as process:
        yield process.wait_until_ready(within_s=LONGEST_START_S, poll_s=START_POLL_S)


def secret_of(number: int) -> str:
    """Return the secret of one of the first sites."""
    return "ags_" + sha256(b"%d" % number).hexdigest()[:40]


def check_of(secret: str, path: str = "/") -> bytes:
    """Return a gateway check as bytes."""
    headers = {
        "Host": "localhost",
        "Authorization": f"Bearer {secret}",
        "X-Original-Method": "GET",
        "X-Original-URL": f"{ORIGIN}{path}",
        "X-Original-Address": ADDRESS,
        **VISITOR,
    }
    return "\r\n".join(["GET /v1/gateway/check HTTP/1.1", *map(": ".join, headers.items()), "", ""]).encode()


@dataclass
class Installation:
    """A data directory with two accounts, and their owners' headers."""

    folder: Path
    site_key: str
    other_key: str
    acme: str
    globex: str
    owner: dict[str, str]
    other_owner: dict[str, str]
    # Of the other customer's site.
    secret: str

    def database(self, name: str) -> SqliteDatabase:
        return SqliteDatabase(self.folder / "data" / f"{name}.db", synchronous="NORMAL")


def install(folder: Path, *, events: int = 0) -> Installation:
    """Create two accounts with a site each, and events of both sites."""
    folder.mkdir(parents=True)
    with running_service(read_settings(environment(folder, SETTINGS)), SystemClock()) as service:
        people = cast(service)
        keys = []
        for owner in (people.alice, people.carol):
            site_key = owner.post("/v1/console/sites", json={"name": "Shop"}).json()["siteKey"]
            changed = service.operator.patch(
                f"/v1/admin/sites/{site_key}", json={"mode": "enforce", "allowedOrigins": [ORIGIN], **ACTIONS}
            )
            assert changed.status_code == 200, changed.text
            keys.append(site_key)
        made = people.carol.post(f"/v1/console/sites/{keys[1]}/credentials", json={"name": "gate"})
        secret = made.json()["secret"]
        for start in range(0, events, EVENTS_AT_ONCE):
            for _, of_day in groupby(_events(start), lambda event: id_day(event.id)):
                service.run(service.application.stores.events.write(list(of_day)))
        return Installation(
            folder=folder,
            site_key=keys[0],
            other_key=keys[1],
            acme=people.acme,
            globex=people.globex,
            owner=headers_of(people.alice),
            other_owner=headers_of(people.carol),
            secret=secret,
        )


def _events(start: int) -> list[Event]:
    """Return events of the last hours of the two sites in turn."""
    first_ms = SystemClock().now_ms() - EVENTS_SPAN_MS
    return [
        new_event(
            number % 4_000,
            time_ms=first_ms + number * EVENTS_SPAN_MS // EVENTS,
            site=number % 2 + 1,
            visitor=number % 20_000 + 1,
            route=f"/route/{number % 12}",
        )
        for number in range(start, min(start + EVENTS_AT_ONCE, EVENTS))
    ]


async def add_sites(installation: Installation, count: int) -> None:
    """Copy Acme's site; each copy has a credential."""
    database = installation.database("config")
    scene = Scene(database)
    await scene.copy("site", count, id="'st_' || n", site_key="'site_' || n", number="n + 10", created_ms="n")
    columns = {"id": "'cr_' || n", "site_id": "'st_' || n", "name": "'gate'", "created_ms": "n"}
    await scene.insert("credential", count, **columns, secret_digest="CAST('digest ' || n AS BLOB)")
    known = [(sha256(secret_of(n).encode()).digest(), f"cr_{n}") for n in range(1, min(count, OWN_SECRETS) + 1)]
    await database.run_many("UPDATE credential SET secret_digest = $1 WHERE id = $2", known)
    await database.close()


async def add_rules(installation: Installation, count: int) -> None:
    """Give so many sites 200 rules, each set different; the first one was saved by the API."""
    database = installation.database("config")
    await Scene(database).copy(
        "site_rules", count, site_id="'st_' || n", rule_set="replace(t.rule_set, 'rule-', 'rule' || n || '-')"
    )
    await database.close()


async def add_entries(installation: Installation, sites: int, each: int) -> None:
    """Give so many sites so many list entries."""
    database = installation.database("config")
    await Scene(database).insert(
        "site_list_entry",
        sites * each,
        id="'le_' || n",
        site_id=f"'st_' || (n % {sites} + 1)",
        kind="'address'",
        value="'10.' || (n / 65536) || '.' || (n / 256 % 256) || '.' || (n % 256)",
        outcome="'block'",
        note="''",
        created_ms="n",
        created_by="'system'",
    )
    await database.close()


def rules_of(count: int) -> dict[str, Any]:
    rules = [
        {"name": f"rule-{n}", "action": "block", "match": {"paths": [f"/a{n}/*"], "all_labels": ["http.shape.1"]}}
        for n in range(count)
    ]
    return {"version": "1", "rules": rules, "default_action": "allow"}


def save_rules(installation: Installation) -> None:
    """Save 200 rules for Acme's site."""
    with serving(installation.folder) as process, process.admin() as operator:
        body = {"ruleSet": rules_of(200), "revision": 0}
        saved = operator.call("PUT", f"/v1/admin/sites/{installation.site_key}/rules", body)
        assert saved.status == 200, saved.body


@contextmanager
def served(installation: Installation) -> Iterator[tuple[ServeProcess, Probe]]:
    """Run the service and the probe."""
    with serving(installation.folder) as process:
        probe = Probe(process, check_of(installation.secret))
        try:
            time.sleep(1)
            yield process, probe
        finally:
            probe.end()
