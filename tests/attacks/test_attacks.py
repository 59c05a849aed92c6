"""A short run of the attacks: what holds against a client that has read the source, and what each attacker gets."""

import sys

import pytest

from tests.attacks.accounts import attack_accounts
from tests.attacks.gains import Gain, a_minute, table
from tests.attacks.nodes import attack_nodes
from tests.attacks.pages import attack_pages, plain, scrape
from tests.attacks.place import attacked_site
from tests.attacks.stalls import attack_stalls, nested_body

pytestmark = pytest.mark.timeout(300)

# Page views of one address in a minute, by the default rules.
PAGES_A_MINUTE = 180
# Of all clearances of an address, with up to 50 browsers.
CLEARED_A_MINUTE = 600
SHORT_S = 1.0


def printed(title: str, gains: list[Gain], capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    with capsys.disabled():
        sys.stdout.write("\n" + table(title, gains) + "\n")
    return {gain.attack: gain.amount for gain in gains}


def test_what_scrapers_and_form_senders_get_behind_nginx(capsys: pytest.CaptureFixture[str]) -> None:
    with attacked_site("nginx") as site:
        limited = scrape(site, "a browser's headers until refused", plain, seconds=40)
        got = printed("behind nginx", attack_pages(site, SHORT_S), capsys)

    assert 0 < limited.amount < PAGES_A_MINUTE
    # A minute may begin during the attack, so the limit of a part of the minute before is added.
    assert 0 < got["120 clearances of one address, 1 User-Agents"] <= 2 * CLEARED_A_MINUTE
    assert got["120 clearances of one address, 120 User-Agents"] <= 2 * 2.4 * CLEARED_A_MINUTE
    assert got["POST /login without a token"] == 0
    assert got["a denied agent on feeds and webhooks"] == 0
    assert got["a rule with a misspelled condition"] == 0
    assert got["wholeSite: a browser's headers"] == 0
    assert got["wholeSite: pages as fetches"] == 0
    assert got["wholeSite: a page and four .js files"] == 0
    assert got["wholeSite: suggestions that a network creates"] == 0
    assert got["wholeSite: requests after accepting all"] == 0


def test_costly_requests_delay_another_client_and_cost_it_no_response(capsys: pytest.CaptureFixture[str]) -> None:
    gains = attack_stalls(2)
    printed("without a proxy", gains, capsys)

    # Each attack may delay another client, and none may cost it an answer.
    assert {gain.attack: gain.unanswered for gain in gains if gain.unanswered} == {}


def test_accounts_restarts_restores_and_idle_connections_give_and_cost_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    got = printed("accounts and nodes", [*attack_accounts(), *attack_nodes(restarts=1, tokens=20)], capsys)

    assert set(got.values()) == {0}


def test_a_limit_ends_the_minute_and_a_pace_continues() -> None:
    assert a_minute(179, 263, 1.5) == 179
    assert a_minute(100, 100, 2.0) == 3_000


def test_a_nested_body_has_the_size_that_is_challenged_for() -> None:
    kind, body = nested_body(4_000)

    assert len(body) == 4_000
    assert body.startswith(b"--" + kind.partition("boundary=")[2].encode())
