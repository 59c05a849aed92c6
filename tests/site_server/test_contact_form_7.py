"""The WordPress plug-in in a form of Contact Form 7, by its documented hooks: the plug-in itself is not installed."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.site_server.gate import ORIGIN, Gate

STAND_IN = Path(__file__).parent / "contact-form-7.php"
PLUGIN = Path(__file__).parents[2] / "packages" / "wordpress" / "agentgate" / "agentgate.php"

pytestmark = pytest.mark.skipif(shutil.which("php") is None, reason="PHP is not installed")


def submit(gate: Gate, *sent: dict[str, Any], url: str = "") -> dict[str, Any]:
    """Show a form, submit these fields one after the other, and return the form and the statuses."""
    asked = {"url": url or gate.url, "siteKey": "site_blog1", "secret": gate.secret, "origin": ORIGIN, "sent": sent}
    command = ["php", "-d", "error_reporting=E_ALL", "-d", "display_errors=stderr", STAND_IN, PLUGIN, json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def fields(token: str | None, name: str = "Ann", **more: Any) -> dict[str, Any]:
    return {"fields": {"your-name": name} | ({} if token is None else {"agentgate-token": token}), **more}


def test_the_form_has_the_widget_before_its_button(gate: Gate) -> None:
    form = submit(gate)["form"]

    widget = form.index('<div class="agentgate" data-sitekey="site_blog1" data-action="contact">')
    assert form.index("your-name") < widget < form.index('type="submit"')


def test_a_mail_needs_a_token_that_is_good_once_and_for_this_action(gate: Gate) -> None:
    token, other = gate.token("contact"), gate.token("login")

    told = submit(gate, fields(None), fields(""), fields("forged"), fields(other), fields(token), fields(token))

    assert told["statuses"] == ["spam", "spam", "spam", "spam", "mail_sent", "spam"]


def test_a_form_with_an_error_keeps_its_token(gate: Gate) -> None:
    """Neither a missing field nor what another plug-in takes for spam uses the token."""
    token = gate.token("contact")

    told = submit(gate, fields(token, name=""), fields(token, spam=True), fields(token))

    assert told["statuses"] == ["validation_failed", "spam", "mail_sent"]


def test_while_the_service_is_unavailable_no_mail_is_sent(gate: Gate) -> None:
    assert submit(gate, fields(gate.token("contact")), url="http://127.0.0.1:1")["statuses"] == ["spam"]
