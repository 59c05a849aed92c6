"""`agentgate labels weak` on a running service: it shows labels that a proof gives, and saves them on request."""

import json
from pathlib import Path

import pytest

from agentgate.browser_check.step_up import WAIT_MS
from tests.cli.commands import Result, agentgate
from tests.support.browser_client import BrowserClient, create_site, decision_of, get_token
from tests.support.service import ADMIN_KEY, RunningService

# One store is enough: the command knows the API only.
pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


def test_a_proof_gives_a_weak_label_that_is_saved_only_on_request(service: RunningService, tmp_path: Path) -> None:
    site = create_site(service)
    where = ("--site-key", site, "--url", service.admin_url)

    def run(*given: str) -> Result:
        result = agentgate(tmp_path, "labels", *given, *where, AGENTGATE_ADMIN_KEY=ADMIN_KEY)
        assert result.returncode == 0, result.stderr
        return result

    page = BrowserClient(service, site)
    challenge = page.challenge(widget="interactive").json()
    service.clock.advance(ms=WAIT_MS)
    passed = page.verify(challenge, answer=page.answer(challenge["stepUp"]))
    assert passed.json()["status"] == "passed", passed.text
    assert get_token(service, site)
    decision_of(service, site, passed.json()["decisionId"])
    service.clock.advance(ms=1_000)

    shown = json.loads(run("weak", "--json").stdout)
    before = run("export").stdout
    saved = run("weak", "--save").stdout
    again = run("weak").stdout
    label = json.loads(run("export").stdout)

    assert [(each["label"], each["proof"]) for each in shown["items"]] == [("human", "interactive challenge passed")]
    assert (shown["saved"], before) == (False, "")
    assert saved.splitlines()[0] == "1 labels saved"
    assert again.splitlines()[0] == "0 labels found; --save saves them"
    assert (label["decisionId"], label["source"]) == (shown["items"][0]["decisionId"], "probe")
