"""Changes of sites by the admin API during a fault, compared with acknowledged changes and the audit trail.

Each client has its own sites, so its responses describe them completely. The only exception is one request without a
response: that change may have happened or not, and the client no longer uses the site afterwards.
"""

import itertools
import json
import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentgate.lib.moment import Moment
from tests.faults.place import GONE, Node, Place
from tests.support.processes import AdminConnection, Answer

SITES = "/v1/admin/sites"
CHANGES_PER_SITE = 12
TRAIL = "SELECT action, time_ms, account_id, site_id, target, detail FROM audit_entry ORDER BY id"


class Unanswered(Exception):  # noqa: N818 - says what happened
    """The service did not report whether a change was made."""


@dataclass
class SiteLedger:
    """A client's record of one site. `open_name` is a change that was sent and got no response."""

    key: str
    site_id: str = ""
    names: list[str] = field(default_factory=list)
    open_name: str | None = None
    # The credentials, as in the responses; an end that no response reported is missing.
    credentials: dict[str, dict[str, Any]] = field(default_factory=dict)
    revoked: dict[str, str] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)

    @property
    def acknowledged(self) -> int:
        """The number of changes that were acknowledged."""
        return len(self.names) + len(self.credentials) + len(self.revoked)

    def usable(self) -> list[str]:
        """Return the credentials that can be rotated or revoked."""
        return [each for each in self.credentials if each not in self.revoked and each not in self.replaced]


class _Client(threading.local):
    """State of a client thread: the connection to a node, and the site that it changes now."""

    connection: AdminConnection | None = None
    ledger: SiteLedger | None = None
    changes = 0


class ConsoleWrites:
    """Changes sites one after the other, and notes each acknowledged change."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._numbers = itertools.count(1)
        self._client = _Client()
        self.ledgers: list[SiteLedger] = []

    def step(self, node: Node, draw: random.Random) -> None:
        client = self._client
        try:
            if client.connection is None or client.ledger is None or client.changes == CHANGES_PER_SITE:
                client.connection = client.connection or node.admin()
                client.ledger, client.changes = SiteLedger(key=f"site_console_{next(self._numbers)}"), 0
                self.ledgers.append(client.ledger)
                self._create(client.connection, client.ledger)
            else:
                client.changes += 1
                self._change(client.connection, client.ledger, draw)
        except (*GONE, Unanswered) as error:
            self.release()
            if not isinstance(error, Unanswered):
                raise

    def release(self) -> None:
        if self._client.connection is not None:
            self._client.connection.__exit__()
        self._client.connection = self._client.ledger = None

    @property
    def acknowledged(self) -> int:
        return sum(ledger.acknowledged for ledger in self.ledgers)

    def problems(self) -> list[str]:
        if self._place.is_put_back:
            return []
        stored = Stored.read(self._place)
        problems = stored.problems() + self._place.damage()
        with self._place.nodes[-1].admin() as connection:
            for ledger in self.ledgers:
                if ledger.site_id:
                    problems += [f"{ledger.key}: {line}" for line in _broken_promises(connection, ledger, stored)]
        return problems

    def _create(self, connection: AdminConnection, ledger: SiteLedger) -> None:
        body = {"name": f"{ledger.key} new", "siteKey": ledger.key}
        answer = _answered(201, connection.call("POST", SITES, body))
        ledger.site_id = answer.body["id"]
        ledger.names.append(answer.body["name"])

    def _change(self, connection: AdminConnection, ledger: SiteLedger, draw: random.Random) -> None:
        usable = ledger.usable()
        # A third credential is never asked for, so that neither limit is in the way.
        steps = [self._rename, self._rename]
        steps += [self._add_credential] * 2 if len(usable) < 2 else []
        steps += [self._rotate] if usable and len(ledger.replaced) < 2 else []
        steps += [self._revoke] if usable else []
        draw.choice(steps)(connection, ledger, draw)

    def _rename(self, connection: AdminConnection, ledger: SiteLedger, _draw: random.Random) -> None:
        ledger.open_name = f"{ledger.key} {next(self._numbers)}"
        answer = _answered(200, connection.call("PATCH", f"{SITES}/{ledger.key}", {"name": ledger.open_name}))
        ledger.names.append(answer.body["name"])
        ledger.open_name = None

    def _add_credential(self, connection: AdminConnection, ledger: SiteLedger, _draw: random.Random) -> None:
        answer = _answered(201, connection.call("POST", f"{SITES}/{ledger.key}/credentials"))
        ledger.credentials[answer.body["credential"]["id"]] = answer.body["credential"]

    def _rotate(self, connection: AdminConnection, ledger: SiteLedger, draw: random.Random) -> None:
        old = draw.choice(ledger.usable())
        answer = _answered(201, connection.call("POST", f"{SITES}/{ledger.key}/credentials/{old}/rotate"))
        ledger.credentials[answer.body["credential"]["id"]] = answer.body["credential"]
        ledger.replaced[old] = answer.body["credential"]["id"]

    def _revoke(self, connection: AdminConnection, ledger: SiteLedger, draw: random.Random) -> None:
        victim = draw.choice(ledger.usable())
        answer = _answered(200, connection.call("POST", f"{SITES}/{ledger.key}/credentials/{victim}/revoke"))
        ledger.revoked[victim] = answer.body["revokedAt"]


def _answered(status: int, answer: Answer) -> Answer:
    """Return a response of this status. After a status of 500 and above, the outcome of the change is unknown."""
    if answer.status >= 500:
        raise Unanswered
    assert answer.status == status, answer
    return answer


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
    # Changes without acknowledgment can only come from the one open request.
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
    """Contents of the configuration database, read while the service runs."""

    accounts: list[str]
    sites: dict[str, tuple[str, str]]
    credentials: dict[str, tuple[int | None, int | None]]
    entries: list[Entry]

    @classmethod
    def read(cls, place: Place) -> "Stored":
        """Read all of it, after the last write."""
        return cls(
            accounts=[row[0] for row in place.rows("SELECT id FROM account")],
            sites={row[0]: (row[1], row[2]) for row in place.rows("SELECT id, account_id, name FROM site")},
            credentials={
                row[0]: (row[1], row[2]) for row in place.rows("SELECT id, expires_ms, revoked_ms FROM credential")
            },
            entries=[Entry._make((*columns, json.loads(detail))) for *columns, detail in place.rows(TRAIL)],
        )

    def names(self, site_id: str) -> list[str]:
        """Return every name a site was given, in order, as its trail tells."""
        return [
            entry.detail["name"] if entry.action == "site.create" else entry.detail["name"]["to"]
            for entry in self._of("site.create", "site.update")
            if entry.site_id == site_id
        ]

    def problems(self) -> list[str]:
        """Return objects without an audit entry, and audit entries without an object."""
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
