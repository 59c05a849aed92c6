"""Sign-in with a real OpenID provider: npm's oidc-provider, as its documentation sets it up."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import Settings
from tests.api.account.oidc_steps import GROUP, PAGES, choose, service_of
from tests.support.cast import cast
from tests.support.issuer import CLIENT, SECRET
from tests.support.ports import free_port
from tests.support.service import RunningService

PROGRAM = Path(__file__).with_name("oidc_provider.mjs")
CLAIMS = {"email": "new@acme.example", "email_verified": True, "groups": [GROUP]}

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")


@pytest.fixture
def service(settings: Settings) -> Iterator[RunningService]:
    port = free_port()
    # The real time, because the provider's tokens have it.
    with service_of(settings, f"http://127.0.0.1:{port}", clock=SystemClock()) as running:
        client = {"clientId": CLIENT, "secret": SECRET, "redirectUri": f"{running.public_url}{PAGES}/callback"}
        provider = subprocess.Popen(
            ["node", str(PROGRAM), str(port), json.dumps({**client, "claims": CLAIMS})],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert provider.stdout is not None
            assert provider.stdout.readline() == "ready\n"
            yield running
        finally:
            provider.kill()
            provider.wait(timeout=30)
            provider.stdout.close()


def test_a_person_of_a_real_provider_joins_by_group(service: RunningService) -> None:
    people = cast(service)
    choose(people.alice, group=GROUP, role="member")
    with httpx.Client(trust_env=False, timeout=60) as browser:
        start = f"{service.public_url}{PAGES}?issuer=work&next=/console/sites"
        # As a browser does: through the provider's pages and back, with the cookies of each path.
        reply = browser.get(start, follow_redirects=True)
        session = browser.get(f"{service.public_url}/v1/account/session").json()

    assert [str(each.url.path) for each in reply.history if each.url.path.startswith("/v1")] == [
        PAGES,
        f"{PAGES}/callback",
    ]
    assert reply.url.path == "/console/sites"
    assert (session["user"]["email"], session["account"]["id"]) == ("new@acme.example", people.acme)
    assert session["account"]["role"] == "member"
