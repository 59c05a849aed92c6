"""Attacks on accounts of a running service: learning who is known, and keeping an owner from signing in."""

import re
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from tests.attacks.gains import Gain
from tests.support.api_client import ApiClient
from tests.support.cast import EMAILS, PASSWORD, Cast, cast
from tests.support.service import RunningService, running_service
from tests.whole.gateway_process import environ

FORM = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
GUESSES = 25
# Different in any two invitations.
_NAMES = re.compile(r"[\w.]+@globex\.example|usr_[0-9a-f]{16}|\d{4}-\d\d-\d\dT[\d:.]+Z")
_SIGNED_IN = 303


def attack_accounts() -> list[Gain]:
    """Run the attacks on a new service."""
    with tempfile.TemporaryDirectory(prefix="agentgate-attacks-") as folder:
        environment = {**environ(Path(folder)), "AGENTGATE_TRUSTED_PROXIES": "127.0.0.1"}
        with running_service(read_settings(environment), SystemClock()) as service:
            people = cast(service)
            return [invite_to_learn(people), guess_to_lock_out(service)]


def invite_to_learn(people: Cast) -> Gain:
    """Invite a known and an unknown address; compare all that the inviting administrator gets to see."""
    seen = []
    for email in (EMAILS["carol"], "chloe@globex.example"):
        invited = people.alice.post("/v1/console/members", json={"email": email, "role": "readonly"})
        member = invited.json()["member"]["userId"]
        again = people.alice.post(f"/v1/console/members/{member}/resend-invite")
        twice = people.alice.post("/v1/console/members", json={"email": email, "role": "readonly"})
        listed = [each for each in people.alice.get("/v1/console/members").json()["items"] if each["email"] == email]
        replies = [(each.status_code, _NAMES.sub("", each.text)) for each in (invited, again, twice)]
        seen.append((replies, _NAMES.sub("", str(listed))))
    return Gain(
        "inviting to learn who is known", float(seen[0] != seen[1]), "addresses told apart", "of 1 known", most=0
    )


def guess_to_lock_out(service: RunningService) -> Gain:
    """Guess an owner's password on the page from many addresses; then the owner signs in with a known device."""
    owner = service.new_public_client()
    assert _sign_in(owner, PASSWORD) == _SIGNED_IN
    for number in range(GUESSES):
        _sign_in(service.new_public_client(), "wrong wrong wrong", number + 1)
    refused = _sign_in(owner, PASSWORD) != _SIGNED_IN
    return Gain(
        "foreign guesses on the sign-in page", float(refused), "owners locked out", f"{GUESSES} guesses", most=0
    )


def _sign_in(client: ApiClient, password: str, number: int = 0) -> int:
    fields = {"email": EMAILS["alice"], "password": password, "next": "", "checkToken": ""}
    headers = {**FORM, "x-forwarded-for": f"198.51.100.{number}"}
    return client.post("/v1/pages/sign-in", content=urlencode(fields), headers=headers).status_code
