"""Token budgets per hour: beyond them, the difficulty rises, then an interactive challenge is required."""

import pytest

from agentgate.browser_check.scrutiny import (
    NETWORK_TOKENS_PER_HOUR,
    SILENT_OF_ADDRESS,
    SILENT_OF_NETWORK,
    TOKENS_PER_HOUR,
)
from agentgate.browser_check.step_up import WAIT_MS
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.limiter import Limiter, Window
from tests.support.browser_client import BrowserClient, create_site
from tests.support.service import RunningService


@pytest.fixture
def site_key(service: RunningService) -> str:
    return create_site(service)


def use(service: RunningService, site_key: str, window: Window, subject: str, times: int) -> None:
    """Count tokens as if they had been issued."""
    view = service.application.refresher.sites.find(site_key)
    assert view is not None
    limiter = Limiter(service.application.stores.shared_cache, service.application.clock)
    for _ in range(times):
        service.run(limiter.count(window, f"{view.number}:{subject}"))


def outcome(page: BrowserClient) -> tuple[str, str]:
    """Run the check without a press; return the work's algorithm and the result."""
    challenge = page.challenge().json()
    return challenge["work"]["algorithm"], page.verify(challenge).json().get("status", "refused")


@pytest.mark.parametrize(
    ("window", "subject", "most"),
    [
        (SILENT_OF_ADDRESS, "198.18.7.1", TOKENS_PER_HOUR),
        (SILENT_OF_NETWORK, "198.18.7.0/24", NETWORK_TOKENS_PER_HOUR),
    ],
)
def test_past_the_budget_the_work_is_raised_and_past_twice_that_the_check_is_shown(
    service: RunningService, site_key: str, window: Window, subject: str, most: int
) -> None:
    page = BrowserClient(service, site_key, address="198.18.7.1")
    use(service, site_key, window, subject, most - 1)

    assert outcome(page) == ("SHA-256", "passed")
    assert outcome(page) == ("scrypt", "passed")
    use(service, site_key, window, subject, most - 2)
    assert outcome(page) == ("scrypt", "passed")
    assert outcome(page) == ("scrypt", "step_up")
    # Another network, another site, another hour.
    assert outcome(BrowserClient(service, site_key, address="198.18.8.1")) == ("SHA-256", "passed")
    assert outcome(BrowserClient(service, create_site(service), address="198.18.7.1")) == ("SHA-256", "passed")
    service.clock.advance(ms=HOUR_MS)
    assert outcome(page) == ("SHA-256", "passed")


def test_one_untouched_browser_on_six_addresses_of_a_network_gets_at_most_500_tokens_in_an_hour(
    service: RunningService, site_key: str
) -> None:
    """The network's budget holds however the addresses are rotated. The browser solves whatever work it gets."""
    pages = [BrowserClient(service, site_key, address=f"198.18.9.{number}") for number in range(1, 7)]
    # The first tokens are counted for the same browser, so that the test solves the raised difficulty only a few times.
    use(service, site_key, SILENT_OF_NETWORK, "198.18.9.0/24", 2 * NETWORK_TOKENS_PER_HOUR - 6)
    passed = [outcome(page)[1] for _ in range(3) for page in pages].count("passed")

    assert 2 * NETWORK_TOKENS_PER_HOUR - 6 + passed <= 500


def test_a_person_who_presses_the_button_gets_a_token_past_the_budget(service: RunningService, site_key: str) -> None:
    page = BrowserClient(service, site_key, address="198.18.7.1")
    use(service, site_key, SILENT_OF_ADDRESS, "198.18.7.1", 2 * TOKENS_PER_HOUR)
    challenge = page.challenge().json()
    step_up = page.verify(challenge).json()["stepUp"]
    service.clock.advance(ms=WAIT_MS * 4)

    again = page.probes_again(step_up, challenge["challengeId"])
    passed = page.verify(challenge, answer={**page.answer(step_up), "probes": again})
    assert passed.json()["status"] == "passed"


def test_monitor_mode_shows_no_check_past_the_budget(service: RunningService) -> None:
    site_key = create_site(service, mode="monitor")
    use(service, site_key, SILENT_OF_ADDRESS, "198.18.7.1", 2 * TOKENS_PER_HOUR)

    assert outcome(BrowserClient(service, site_key, address="198.18.7.1")) == ("SHA-256", "passed")
