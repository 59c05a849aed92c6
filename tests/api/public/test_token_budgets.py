"""Token budgets per hour: beyond them, the difficulty rises, then an interactive challenge is required."""

import pytest

from agentgate.browser_check.budgets import PER_ADDRESS, PER_HOUR, TokenBudgets
from agentgate.browser_check.step_up import WAIT_MS
from agentgate.lib.clock import HOUR_MS
from tests.support.browser_client import BrowserClient, create_site
from tests.support.service import RunningService


@pytest.fixture
def site_key(service: RunningService) -> str:
    return create_site(service)


def use(service: RunningService, site_key: str, times: int, network: str = "198.18.7", addresses: int = 1) -> None:
    """Count tokens as if they had been issued to so many addresses."""
    application = service.application
    view = application.refresher.sites.find(site_key)
    assert view is not None
    budgets = TokenBudgets(application.stores.shared_cache)
    for number in range(times):
        address = f"{network}.{number % addresses + 1}"
        service.run(budgets.count(view.number, address, application.clock.now_ms()))


def outcome(page: BrowserClient) -> tuple[str, str]:
    """Run the check without a press; return the work's algorithm and the result."""
    challenge = page.challenge().json()
    return challenge["work"]["algorithm"], page.verify(challenge).json().get("status", "refused")


# One address, and a network that has a little more for 25 of them.
@pytest.mark.parametrize(("addresses", "most"), [(1, PER_HOUR), (25, 25 * PER_ADDRESS)])
def test_past_half_of_the_budget_the_work_is_raised_and_past_it_the_check_is_shown(
    service: RunningService, site_key: str, addresses: int, most: int
) -> None:
    page = BrowserClient(service, site_key, address="198.18.7.1")
    use(service, site_key, most // 2 - 1, addresses=addresses)

    assert outcome(page) == ("SHA-256", "passed")
    assert outcome(page) == ("scrypt", "passed")
    use(service, site_key, (most + 1) // 2 - 2, addresses=addresses)
    assert outcome(page) == ("scrypt", "passed")
    assert outcome(page) == ("scrypt", "step_up")
    # Another network, another site, another hour.
    assert outcome(BrowserClient(service, site_key, address="198.18.8.1")) == ("SHA-256", "passed")
    assert outcome(BrowserClient(service, create_site(service), address="198.18.7.1")) == ("SHA-256", "passed")
    service.clock.advance(ms=HOUR_MS)
    assert outcome(page) == ("SHA-256", "passed")


def test_one_untouched_browser_on_six_addresses_of_a_network_gets_no_more_than_on_one(
    service: RunningService, site_key: str
) -> None:
    """The network's budget holds however the addresses are rotated. The browser solves whatever work it gets."""
    pages = [BrowserClient(service, site_key, address=f"198.18.9.{number}") for number in range(1, 7)]
    # The first tokens are counted for the same browser, so that the test solves the raised difficulty only a few times.
    use(service, site_key, PER_HOUR - 6, "198.18.9", addresses=6)
    passed = [outcome(page)[1] for _ in range(2) for page in pages].count("passed")

    assert passed == 6


def test_a_person_who_presses_the_button_gets_a_token_past_the_budget(service: RunningService, site_key: str) -> None:
    page = BrowserClient(service, site_key, address="198.18.7.1")
    use(service, site_key, PER_HOUR)
    challenge = page.challenge().json()
    step_up = page.verify(challenge).json()["stepUp"]
    service.clock.advance(ms=WAIT_MS * 4)

    again = page.probes_again(step_up, challenge["challengeId"])
    passed = page.verify(challenge, answer={**page.answer(step_up), "probes": again})
    assert passed.json()["status"] == "passed"


def test_monitor_mode_shows_no_check_past_the_budget(service: RunningService) -> None:
    site_key = create_site(service, mode="monitor")
    use(service, site_key, PER_HOUR)

    assert outcome(BrowserClient(service, site_key, address="198.18.7.1")) == ("SHA-256", "passed")
