"""Kills the service while clients write, starts it again on the same data, and compares that with what was promised.

Each client keeps to sites of its own, so that what it was told is the whole truth about them, but for the one request
that was open at the moment of the crash: that one may have happened or not.
"""

import contextlib
import http.client
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from agentgate.lib.moment import Moment
from tests.processes import AdminConnection, ServeProcess, serving

CLIENTS = 4
LEAST_LIFE_S, MOST_LIFE_S = 0.060, 0.150
SITES = "/v1/admin/sites"
CHANGES_PER_SITE = 12
TRAIL = "SELECT action, time_ms, account_id, site_id, target, detail FROM audit_entry ORDER BY id"
GONE = (OSError, http.client.HTTPException)


@dataclass
class SiteLedger:
    """What one client was told about one site. `open_name` is a change that was sent and not answered."""

    key: str
    site_id: str = ""
    names: list[str] = field(default_factory=list)
    open_name: str | None = None
    # What each answer said of a credential; an end that the answer did not tell is not in it.
    credentials: dict[str, dict[str, Any]] = field(default_factory=dict)
    revoked: dict[str, str] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)

    @property
    def acknowledged(self) -> int:
        """How many changes were answered with success."""
        return len(self.names) + len(self.credentials) + len(self.revoked)

    def usable(self) -> list[str]:
        """Return the credentials that can be rotated or revoked."""
        return [each for each in self.credentials if each not in self.revoked and each not in self.replaced]


class Client:
    """Changes sites one after the other until the service is gone, and writes down each acknowledged answer."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self._name = name
        self._chance = chance
        self._numbers = itertools.count(1)
        self.ledgers: list[SiteLedger] = []

    def run(self, url: str) -> None:
        """Write until the connection breaks."""
        with contextlib.suppress(*GONE), AdminConnection(url) as connection:
            while True:
                ledger = SiteLedger(key=f"site_{self._name}_{next(self._numbers)}")
                self.ledgers.append(ledger)
                self._create(connection, ledger)
                for _ in range(CHANGES_PER_SITE):
                    self._change(connection, ledger)

    def _create(self, connection: AdminConnection, ledger: SiteLedger) -> None:
        body = {"name": f"{ledger.key} new", "siteKey": ledger.key}
        answer = connection.call("POST", SITES, body)
        assert answer.status == 201, answer
        ledger.site_id = answer.body["id"]
        ledger.names.append(answer.body["name"])

    def _change(self, connection: AdminConnection, ledger: SiteLedger) -> None:
        usable = ledger.usable()
        # A third credential is never asked for, so that neither limit is in the way.
        steps = [self._rename, self._rename]
        steps += [self._add_credential] * 2 if len(usable) < 2 else []
        steps += [self._rotate] if usable and len(ledger.replaced) < 2 else []
        steps += [self._revoke] if usable else []
        self._chance.choice(steps)(connection, ledger)

    def _rename(self, connection: AdminConnection, ledger: SiteLedger) -> None:
        ledger.open_name = f"{ledger.key} {next(self._numbers)}"
        answer = connection.call("PATCH", f"{SITES}/{ledger.key}", {"name": ledger.open_name})
        assert answer.status == 200, answer
        ledger.names.append(answer.body["name"])
        ledger.open_name = None

    def _add_credential(self, connection: AdminConnection, ledger: SiteLedger) -> None:
        answer = connection.call("POST", f"{SITES}/{ledger.key}/credentials")
        assert answer.status == 201, answer
        ledger.credentials[answer.body["credential"]["id"]] = answer.body["credential"]

    def _rotate(self, connection: AdminConnection, ledger: SiteLedger) -> None:
        old = self._chance.choice(ledger.usable())
        answer = connection.call("POST", f"{SITES}/{ledger.key}/credentials/{old}/rotate")
        assert answer.status == 201, answer
        ledger.credentials[answer.body["credential"]["id"]] = answer.body["credential"]
        ledger.replaced[old] = answer.body["credential"]["id"]

    def _revoke(self, connection: AdminConnection, ledger: SiteLedger) -> None:
        victim = self._chance.choice(ledger.usable())
        answer = connection.call("POST", f"{SITES}/{ledger.key}/credentials/{victim}/revoke")
        assert answer.status == 200, answer
        ledger.revoked[victim] = answer.body["revokedAt"]


@dataclass(frozen=True, kw_only=True)
class CrashReport:
    """What a run of crashes came to."""

    kills: int
    acknowledged: int
    ready_s: tuple[float, ...]
    problems: tuple[str, ...]

    def __str__(self) -> str:
        """Write it as one line."""
        slowest, mean = max(self.ready_s), sum(self.ready_s) / len(self.ready_s)
        return (
            f"{self.kills} kills, {self.acknowledged} acknowledged changes, {len(self.problems)} problems; "
            f"ready after {slowest:.2f} s at most, {mean:.2f} s on average"
        )


def crash_repeatedly(folder: Path, *, kills: int, seed: int) -> CrashReport:
    """Start, compare, write and kill, so many times; then start once more and compare everything."""
    chance = random.Random(seed)
    everything: list[SiteLedger] = []
    newest: list[SiteLedger] = []
    problems: list[str] = []
    ready_s: list[float] = []
    for number in range(1, kills + 1):
        with serving(folder) as process:
            ready_s.append(process.ready_s)
            problems += _compare(process, newest)
            newest = _write_until_killed(process, number, chance)
            everything += newest
    with serving(folder) as process:
        ready_s.append(process.ready_s)
        problems += _compare(process, everything)
    return CrashReport(
        kills=kills,
        acknowledged=sum(ledger.acknowledged for ledger in everything),
        ready_s=tuple(ready_s),
        problems=tuple(problems),
    )


def _write_until_killed(process: ServeProcess, number: int, chance: random.Random) -> list[SiteLedger]:
    clients = [Client(f"{number}_{each}", random.Random(chance.random())) for each in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as threads:
        runs = [threads.submit(client.run, process.admin_url) for client in clients]
        time.sleep(chance.uniform(LEAST_LIFE_S, MOST_LIFE_S))
        process.kill()
        for run in runs:
            run.result()
    return [ledger for client in clients for ledger in client.ledgers]


def _compare(process: ServeProcess, ledgers: list[SiteLedger]) -> list[str]:
    """Return what is wrong: files, what was promised, what stands beside its audit entry."""
    problems = [f"{path.name}: {line}" for path in sorted(process.data.glob("*.db")) for line in _damage(path)]
    stored = Stored.read(process.data / "config.db")
    problems += stored.problems()
    with process.admin() as connection:
        for ledger in ledgers:
            if ledger.site_id:
                problems += [f"{ledger.key}: {line}" for line in _broken_promises(connection, ledger, stored)]
    return problems


def _broken_promises(connection: AdminConnection, ledger: SiteLedger, stored: "Stored") -> list[str]:
    answer = connection.call("GET", f"{SITES}/{ledger.key}")
    if answer.status != 200 or answer.body["id"] != ledger.site_id:
        return [f"the site is gone ({answer.status})"]
    shown = {credential["id"]: credential for credential in answer.body["credentialList"]}
    problems = [f"credential {each} is gone" for each in ledger.credentials if each not in shown]
    problems += [
        f"the end of {each} is {shown.get(each, {}).get('revokedAt')}, not {revoked_at}"
        for each, revoked_at in ledger.revoked.items()
        if shown.get(each, {}).get("revokedAt") != revoked_at
    ]
    rotations = {entry.target: entry.detail for entry in stored.entries if entry.action == "credential.rotate"}
    for old, new in ledger.replaced.items():
        detail = rotations.get(old, {})
        if detail.get("replacedBy") != new or shown.get(old, {}).get("expiresAt") != detail.get("expiresAt", ""):
            problems.append(f"{old} was replaced by {new}, and the store says otherwise")
    renames = stored.names(ledger.site_id)
    problems += [f"the change to {name!r} is gone" for name in ledger.names if name not in renames]
    if answer.body["name"] not in {ledger.names[-1], ledger.open_name}:
        problems.append(f"the name is {answer.body['name']!r}, not {ledger.names[-1]!r}")
    # What nobody was told of can only be the one request that was open.
    unexplained = (
        len(shown.keys() - ledger.credentials.keys() - set(rotations))
        + len([each for each in shown.values() if "revokedAt" in each and each["id"] not in ledger.revoked])
        + (answer.body["name"] != ledger.names[-1])
    )
    return [*problems, *(["more was done than was asked"] if unexplained > 1 else [])]


class Entry(NamedTuple):
    """One row of the audit trail."""

    action: str
    time_ms: int
    account_id: str | None
    site_id: str | None
    target: str | None
    detail: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Stored:
    """What lies in the configuration database, read beside the running service."""

    accounts: list[str]
    sites: dict[str, tuple[str, str]]
    credentials: dict[str, tuple[int | None, int | None]]
    entries: list[Entry]

    @classmethod
    def read(cls, path: Path) -> "Stored":
        """Read all of it in one transaction."""
        with _opened(path) as connection, connection:
            accounts: list[Any] = connection.execute("SELECT id FROM account").fetchall()
            sites: list[Any] = connection.execute("SELECT id, account_id, name FROM site").fetchall()
            credentials: list[Any] = connection.execute("SELECT id, expires_ms, revoked_ms FROM credential").fetchall()
            trail: list[Any] = connection.execute(TRAIL).fetchall()
        return cls(
            accounts=[row[0] for row in accounts],
            sites={row[0]: (row[1], row[2]) for row in sites},
            credentials={row[0]: (row[1], row[2]) for row in credentials},
            entries=[Entry._make((*columns, json.loads(detail))) for *columns, detail in trail],
        )

    def names(self, site_id: str) -> list[str]:
        """Return every name a site was given, in order, as its trail tells."""
        return [
            entry.detail["name"] if entry.action == "site.create" else entry.detail["name"]["to"]
            for entry in self._of("site.create", "site.update")
            if entry.site_id == site_id
        ]

    def problems(self) -> list[str]:
        """Return what stands without its audit entry, and which entries tell of nothing."""
        rotations = self._of("credential.rotate")
        made = [entry.target for entry in self._of("credential.create")]
        made += [entry.detail["replacedBy"] for entry in rotations]
        expiring = {each: expires_ms for each, (expires_ms, _) in self.credentials.items() if expires_ms is not None}
        revoked = {each: revoked_ms for each, (_, revoked_ms) in self.credentials.items() if revoked_ms is not None}
        trail_names: dict[str | None, str] = {}
        for entry in self._of("site.create", "site.update"):
            name = entry.detail["name"]
            trail_names[entry.site_id] = name if isinstance(name, str) else name["to"]
        comparisons = {
            "sites and site.create": (Counter(self.sites.keys()), Counter(e.site_id for e in self._of("site.create"))),
            "accounts and account.create": (
                Counter(self.accounts),
                Counter(entry.account_id for entry in self._of("account.create")),
            ),
            "accounts and their one site": (
                Counter(self.accounts),
                Counter(account_id for account_id, _ in self.sites.values()),
            ),
            "credentials and how they were made": (Counter(self.credentials.keys()), Counter(made)),
            "replaced credentials and credential.rotate": (
                sorted(expiring.items()),
                sorted((entry.target, Moment.parse(entry.detail["expiresAt"])) for entry in rotations),
            ),
            "revoked credentials and credential.revoke": (
                sorted(revoked.items()),
                sorted((entry.target, entry.time_ms) for entry in self._of("credential.revoke")),
            ),
            "names and the trail": ({each: name for each, (_, name) in self.sites.items()}, trail_names),
        }
        return [f"{what} differ" for what, (there, told) in comparisons.items() if there != told]

    def _of(self, *actions: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.action in actions]


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[apsw.Connection]:
    # Read-only: what is looked at must stay as the crash and the restart left it.
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        yield connection
    finally:
        connection.close()


def _damage(path: Path) -> list[str]:
    with _opened(path) as connection:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
    return [line for line in found if line != "ok"]
