"""The life of a model by docs/train-model.md: capture, 500 labels, train, compare, promote and roll back."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from agentgate.events.decision_ids import first_id, write_id
from agentgate.events.records import Event
from agentgate.lib.enums import DecisionKind, Mode, Outcome
from tests.support.service import ADMIN_KEY, RunningService
from tests.tidy.sources import ROOT
from tests.whole.doctor_service import service

__all__ = ["service"]

PAGE = (ROOT / "docs" / "train-model.md").read_text()
LABELS = 500
LONGEST_S = 600
PERSON, BOT = ("ua.browser",), ("http.unlike_browser", "ua.browser", "ua.scanner")
# A decision and a request that the page names.
NAMED, REQUEST = "dec_0hq2f9k3v7m1c", "load-test-17"


def blocks() -> list[str]:
    """Return the commands of the page, in order."""
    return re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def add_traffic(service: RunningService, number: int) -> list[str]:
    events = [
        Event(
            id=first_id(service.clock.now_ms() - 60_000 - place * 1_000),
            site=number,
            visitor=place,
            kind=DecisionKind.REQUEST,
            mode=Mode.ENFORCE,
            outcome=Outcome.BLOCK if place % 2 else Outcome.ALLOW,
            method="GET",
            route="*",
            status=403 if place % 2 else 204,
            duration_us=10,
            labels=BOT if place % 2 else PERSON,
            scores={"bot": 0.5},
            model_versions={"bot": "earlier"},
            request_id=REQUEST if place == 1 else None,
        )
        for place in range(LABELS)
    ]
    service.run(service.application.stores.events.write(events))
    return [write_id(event.id) for event in events]


def test_the_commands_of_the_page_lead_from_labels_to_a_promoted_model_and_back(
    service: RunningService, tmp_path: Path
) -> None:
    started_s = time.monotonic()
    site = service.operator.post("/v1/admin/sites", json={"name": "Shop", "siteKey": "site_shop1"}).json()
    number = service.run(service.application.stores.store.read.sites.find_number(site["id"]))
    decisions = add_traffic(service, number)
    shipped = service.operator.get("/v1/admin/models").json()["models"]["bot"]["active"]["version"]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_ADMIN_LISTEN": service.admin_url.partition("//")[2],
    }

    def run(block: str) -> str:
        # Each block continues the shell of the ones before, which set URL and KEY.
        text = block.replace("http://127.0.0.1:8081", service.admin_url).replace(NAMED, decisions[3])
        text = re.sub(r"^curl ", "curl -sS --fail-with-body ", text, flags=re.MULTILINE)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{exports}\n{text}"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    label, capture, train, change = (
        next(block for block in blocks() if word in block)
        for word in ("/label?siteKey", "feature-capture", "agentgate train labels", "/promote")
    )
    exports = re.findall(r"^export .*$", label, re.MULTILINE)[0].replace("http://127.0.0.1:8081", service.admin_url)
    run(capture)
    run(label)
    for place, decision in enumerate(decisions):
        body = {"label": "bot" if place % 2 else "human"}
        at = f"/v1/admin/decisions/{decision}/label"
        assert service.operator.put(at, params={"siteKey": "site_shop1"}, json=body).status_code == 200
    run(train)
    trained = json.loads((tmp_path / "model.json").read_text())["version"]
    promote, rollback = change.strip().rsplit("\n", 1)
    run(promote)
    assert service.operator.get("/v1/admin/models").json()["models"]["bot"]["active"]["version"] == trained
    run(rollback)

    assert service.operator.get("/v1/admin/models").json()["models"]["bot"]["active"]["version"] == shipped
    assert (tmp_path / "report.html").is_file()
    assert time.monotonic() - started_s < LONGEST_S
