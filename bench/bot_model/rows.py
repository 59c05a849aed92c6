"""Rows for the bot model: the made-up population at the real gateway, and the lab's recorded sessions, as labels.

A row is what `agentgate labels export` writes, with the labels that the service itself found. The population is
synthetic; the sessions are of real browsers and real automation tools, with people simulated on an X server.
"""

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import httpx

from agentgate.decision.scoring.directions import DECISIVE
from agentgate.events.records import Event, Recorded, Repeated
from agentgate.lib.clock import FixedClock
from agentgate.lib.enums import Outcome
from agentgate.lib.moment import Moment
from agentgate.lib.telemetry import logs
from agentgate.server.application import Application
from agentgate_tools.training.fit import USUAL
from tests.population.changes import BARRED, UNCHANGED, changed_page_loads
from tests.population.clearances import PassedChecks
from tests.population.crawlers import crawler_requests
from tests.population.gate import ADMIN_KEY, NOON_MS, SITE, SITE_KEY, create_site, settings_in, write_check
from tests.population.people import page_views
from tests.population.programs import program_requests
from tests.population.sent import Sent, Should
from tests.population.unwanted import unwanted_requests

SESSIONS = Path(__file__).with_name("sessions.ndjson")
# A page has dozens of similar subresources: one of every 25 is enough.
PARTS_ONE_IN = 25
# Made by one change to a person's page load that people show too; nothing can be learned from it.
LEFT_OUT = ("seen of people too",)
# Exact copies of a browser's headers, of a page or of a picture: only rates and networks show them.
COPIES = ("impersonating", "browser in a cloud", "as pictures")
AT_ONCE = 64
# A source, and its requests.
Group = tuple[str, Sequence[Sent]]
DECISIVE_COPIES = 40
CLIENTS_OF_PEOPLE = ("ua.app", "ua.console", "ua.legacy", "ua.sync_client", "ua.text_browser", "ua.tv", "ua.webview")
# The default rules challenge or block these by themselves too.
DECLARED = ("ua.automation", "ua.headless", "ua.http_library", "ua.missing", "ua.scanner")
MORE_OF_PROGRAMS = ("http.accept_encoding_missing", "http.accept_language_missing", "http.few_headers")
MORE_OF_PEOPLE = ("http.accept_encoding_missing", "http.fetch_metadata_missing", "ua.claims_browser", "ua.old")


@dataclass(frozen=True)
class Row:
    """A decision, who was behind it, and what the rules did without a model."""

    # The source by which halves are split: a kind of traffic, or a tool of the lab.
    source: str
    # Browser or program.
    family: str
    is_bot: bool
    # Whether it sends a browser's headers with something wrong, or an exact copy of them.
    is_disguised: bool
    is_copy: bool
    visitor: str
    at_ms: int
    labels: tuple[str, ...]
    is_stopped: bool

    @property
    def evidence(self) -> tuple[str, ...]:
        """The labels that exist before scoring."""
        return tuple(label for label in self.labels if not label.startswith("model."))

    def exported(self, number: int) -> dict[str, Any]:
        """Return it as a label object."""
        time = Moment(NOON_MS + self.at_ms).text()
        return {
            "decisionId": f"dec_{number:08d}",
            "label": "bot" if self.is_bot else "human",
            "source": "synthetic" if self.source in SYNTHETIC else "probe",
            "updatedAt": time,
            "evidence": {"time": time, "labels": list(self.evidence), "visitorId": f"{hash_of(self.visitor):016x}"},
        }


SYNTHETIC = frozenset(("people", "programs", "unwanted", *BARRED, "values", "combined"))


def hash_of(text: str) -> int:
    """Return 64 bits of a text, the same in each run."""
    return int.from_bytes(text.encode()[-40:].rjust(40, b"\0"), "big") * 0x9E3779B97F4A7C15 % 2**64


def gateway_rows(seed: int, *, views: int, changed: int, unwanted: int) -> list[Row]:
    """Return the gateway's decisions about the population of a seed."""
    return decided(
        [
            *people_of(seed, views),
            ("programs", [*program_requests(seed), *crawler_requests(seed)]),
            *(("unwanted", list(kind)) for kind in unwanted_requests(seed, unwanted)),
            *_changes(seed, changed),
        ]
    )


def decided(groups: Iterable[Group]) -> list[Row]:
    """Return the gateway's decisions about groups of requests, one group after the other."""
    logs.configure("json", "error")
    with tempfile.TemporaryDirectory(prefix="agentgate-model-") as folder, settings_in(Path(folder)) as settings:
        return asyncio.run(_ask(settings, list(_in_turn(groups))))


def people_of(seed: int, views: int) -> Iterator[Group]:
    """Yield the page views of a seed, each with some of its subresources."""
    chance = Random(f"{seed}:rows")
    for group in page_views(seed, views):
        yield "people", [each for each in group if each.is_navigation or not chance.randrange(PARTS_ONE_IN)]


def _in_turn(groups: Iterable[Group]) -> Iterator[tuple[str, Sent]]:
    at_ms = 0
    for source, group in groups:
        start = at_ms
        for sent in sorted(group, key=lambda each: each.at_ms):
            at_ms = start + sent.at_ms
            yield source, sent._replace(at_ms=at_ms)
        at_ms += 1_000 if source == "people" else 60_000


def _changes(seed: int, changed: int) -> Iterator[tuple[str, list[Sent]]]:
    by_kind: dict[str, list[Sent]] = {}
    for sent in changed_page_loads(seed, changed):
        if sent.kind != UNCHANGED and sent.kind not in LEFT_OUT:
            by_kind.setdefault(sent.kind, []).append(sent)
    yield from by_kind.items()


class _Captured:
    """Takes the batches that the recorder would log."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, batch: Sequence[Recorded]) -> None:
        self.events += [each.whole() if isinstance(each, Repeated) else each for each in batch]


async def _ask(settings: Any, sent: Iterable[tuple[str, Sent]]) -> list[Row]:
    clock = FixedClock(NOON_MS)
    application = await Application.open(settings, clock=clock)
    captured = _Captured()
    application.recorder.log = captured  # type: ignore[assignment]
    asked: list[tuple[str, Sent]] = []
    await application.start()
    try:
        secret = await create_site(application, SITE)
        await _count_only(application)
        gate, checks = application.gateway.check, PassedChecks(application, SITE_KEY)
        for number, (source, each) in enumerate(sent):
            clock.advance(ms=max(0, NOON_MS + each.at_ms - clock.now_ms()))
            shown = checks.show(each)
            answer = gate.take(write_check(shown, secret))
            if isinstance(answer, Awaitable):
                await answer
            asked.append((source, shown))
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
    finally:
        await application.close()
    assert len(captured.events) == len(asked), "each check leaves one event"
    captured.events.sort(key=lambda event: event.id)
    return [_row(source, each, event) for (source, each), event in zip(asked, captured.events, strict=True)]


async def _count_only(application: Application) -> None:
    """Let the rules alone decide. With the score's rule, the present model would stop the bots that it finds, and no
    bot that it finds would be one that the rules allow."""
    host, port = application.admin_address
    overrides = {"revision": 0, "overrides": {"score-bot": "count"}}
    async with httpx.AsyncClient(headers={"X-Admin-Key": ADMIN_KEY}, timeout=60) as operator:
        put = await operator.put(f"http://{host}:{port}/v1/admin/sites/{SITE_KEY}/rules", json=overrides)
        put.raise_for_status()
    await application.refresher.sites.await_refresh()


def _row(source: str, sent: Sent, event: Event) -> Row:
    is_bot = sent.should is Should.STOP
    return Row(
        source=source,
        family=sent.name,
        is_bot=is_bot,
        is_disguised=is_bot and "ua.browser" in event.labels and sent.name not in COPIES,
        is_copy=sent.name in COPIES,
        visitor=_visitor(source, sent),
        at_ms=sent.at_ms,
        labels=event.labels,
        is_stopped=event.outcome is not Outcome.ALLOW,
    )


def _visitor(source: str, sent: Sent) -> str:
    # One crawler stands for many: held out whole, nothing would be known of verified ones.
    if source == "programs":
        return f"{source}:{sent.name}:{sent.at_ms}"
    return f"{source}:{sent.address}:{sent.person}"


def decisive_rows() -> list[Row]:
    """Return usual visitors with one label that the default rules challenge by itself, and people's other clients."""
    bots = [tuple(sorted((*usual, label))) for usual in USUAL for label in sorted(DECISIVE)]
    bots += [(label,) for label in DECLARED]
    bots += [tuple(sorted((label, more))) for label in DECLARED for more in MORE_OF_PROGRAMS]
    # Text browsers, mail programs, televisions: without `ua.browser`, and each a person's.
    people = [(label,) for label in CLIENTS_OF_PEOPLE]
    people += [tuple(sorted((label, more))) for label in CLIENTS_OF_PEOPLE for more in MORE_OF_PEOPLE if label != more]
    return [
        Row(
            source="combined",
            family=" ".join(labels),
            is_bot=labels in bots,
            is_disguised=False,
            is_copy=False,
            visitor=f"combined:{' '.join(labels)}:{number}",
            at_ms=number * 60_000,
            labels=labels,
            is_stopped=labels in bots,
        )
        for labels in (*bots, *people)
        for number in range(DECISIVE_COPIES)
    ]


def session_rows(path: Path = SESSIONS) -> list[tuple[str, Row]]:
    """Return the lab's recorded sessions, each with its half."""
    found = []
    for number, line in enumerate(path.read_text("utf-8").splitlines()):
        session = json.loads(line)
        row = Row(
            source=session["driver"],
            family=session["variant"],
            is_bot=session["kind"] == "bot",
            is_disguised=False,
            is_copy=False,
            visitor=f"lab:{session['driver']}:{session['variant']}:{session['run']}",
            at_ms=number * 60_000,
            labels=tuple(session["labels"]),
            is_stopped=session["stopped"],
        )
        found.append((session["half"], row))
    return found
