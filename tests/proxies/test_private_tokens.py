"""Private tokens (Privacy Pass) through real proxies: asked for under the site's own name, and taken once."""

from collections.abc import Iterator

import pytest

from tests.proxies.visiting import NAVIGATION, BrowserBehindProxy, Installed, Told, new_address
from tests.support.browser_client import decision_of
from tests.support.private_tokens import ISSUER, TRUSTED, issue, read_challenge


@pytest.fixture
def trusting(installed: Installed) -> Iterator[Installed]:
    installed.change(privateTokenIssuers=TRUSTED)
    yield installed
    installed.change(privateTokenIssuers=[])


def test_a_token_is_requested_in_the_sites_name_and_taken_once(trusting: Installed) -> None:
    page = BrowserBehindProxy(trusting, new_address())
    seen = len(trusting.site.asked)
    challenge = page.challenge().json()

    def show(*authorization: str, address: str = page.address) -> Told:
        sent = [("Authorization", each) for each in authorization]
        return trusting.visit("GET", f"/.agentgate{challenge['privateToken']}", headers=sent, address=address)

    asked = show()
    assert (asked.status, asked.json["error"]) == (401, "private_token_required")
    header = asked.headers["www-authenticate"]
    # Otherwise a browser would not have a token made for it.
    assert read_challenge(header).endswith(b"shop.example")
    assert ISSUER.encode() in read_challenge(header)

    token = issue(header)
    forged = token[:100] + ("A" if token[100] != "A" else "B") + token[101:]
    assert (show(forged).status, show(token, address=new_address()).status) == (403, 400)
    assert show(token).json == {"status": "accepted"}
    assert (show(token).status, show(token).json["error"]) == (403, "private_token_invalid")
    passed = page.verify(challenge).json()
    assert "privacy_pass.verified" in decision_of(trusting.service, trusting.site_key, passed["decisionId"])["labels"]
    # The application never gets the token of a check.
    assert len(trusting.site.asked) == seen
    # And the token opens nothing by itself.
    told = trusting.visit("GET", "/members", usual=NAVIGATION, headers=[("Authorization", token)])
    assert (told.status, len(trusting.site.asked)) == (401, seen)
