"""A short run of the attacks: what holds against a client that has read the source, and what each attacker gets."""

import sys

import pytest

from tests.attacks.accounts import attack_accounts
from tests.attacks.gains import Gain, table
from tests.attacks.nodes import attack_nodes
from tests.attacks.pages import OF_ADDRESS, OF_CLEARANCES, attack_pages, pages_in
from tests.attacks.place import attacked_site
from tests.attacks.stalls import attack_stalls, nested_body

pytestmark = pytest.mark.timeout(300)


def printed(title: str, gains: list[Gain], capsys: pytest.CaptureFixture[str]) -> dict[str, Gain]:
    with capsys.disabled():
        sys.stdout.write("\n" + table(title, gains) + "\n")
    return {gain.attack: gain for gain in gains}


def exceeded(gains: dict[str, Gain]) -> list[str]:
    return [name for name, gain in gains.items() if gain.is_exceeded]


def test_no_attack_behind_nginx_gets_more_than_its_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with attacked_site("nginx") as site:
        got = printed("behind nginx", attack_pages(site), capsys)

    assert exceeded(got) == []
    assert all(gain.most is not None for gain in got.values())
    # Pages were requested until a limit blocked them.
    assert [name for name, gain in got.items() if "no limit reached" in gain.detail] == []
    assert got["a browser's headers"].amount >= OF_ADDRESS / 2
    assert got["120 clearances of one address, 1 User-Agents"].amount >= OF_CLEARANCES / 2


def test_costly_requests_delay_another_client_and_cost_it_no_response(capsys: pytest.CaptureFixture[str]) -> None:
    gains = attack_stalls(2)
    printed("without a proxy", gains, capsys)

    # Each attack may delay another client, but every request of that client must get a response.
    assert [gain.attack for gain in gains if gain.unanswered] == []


def test_accounts_restarts_restores_and_idle_connections_give_and_cost_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    got = printed("accounts and nodes", [*attack_accounts(), *attack_nodes(restarts=1, tokens=20)], capsys)

    assert {gain.amount for gain in got.values()} == {0}
    assert exceeded(got) == []


def test_a_figure_above_its_bar_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    gains = [Gain("a", 181, "pages", "", most=180), Gain("b", 180, "pages", "", most=180), Gain("c", 9, "s", "")]

    assert exceeded(printed("a proxy", gains, capsys)) == ["a"]
    assert [line.endswith("EXCEEDED") for line in table("a proxy", gains).splitlines()[1:]] == [True, False, False]
    assert Gain("d", 0, "s", "", unanswered=1).is_exceeded


def test_a_limit_permits_more_as_time_passes() -> None:
    assert [pages_in("a", got, 400, 30.0, 180).is_exceeded for got in (270, 271)] == [False, True]
    assert pages_in("b", 1, 20, 30.0, 0).is_exceeded
    assert "no limit reached" in pages_in("c", 9, 9, 30.0, 180).detail


def test_a_nested_body_has_the_size_that_is_challenged_for() -> None:
    kind, body = nested_body(4_000)

    assert len(body) == 4_000
    assert body.startswith(b"--" + kind.partition("boundary=")[2].encode())
