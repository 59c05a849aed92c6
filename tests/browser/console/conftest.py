"""The consoles in a real browser: a service with the demo's site and traffic, and a customer who is signed in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from agentgate.server.demo.installation import seed, seed_traffic
from tests.browser.console.furniture import furnish
from tests.browser.console.hands import HANDS, Hand
from tests.browser.console.steps import EMAIL, PASSWORD, Console, sign_in, watch
from tests.support.service import ADMIN_KEY, running_service


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A service with a day of made-up traffic, and the owner of the demo's account."""
    folder: Path = tmp_path_factory.mktemp("console")
    settings = read_settings(
        {
            "AGENTGATE_DATA_DIR": str(folder),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_SITE_PRIVATE_HOSTS": "localhost",
        }
    )
    with running_service(settings, SystemClock()) as service:
        application = service.application
        service.run(seed(application.stores.store, application.clock))
        service.run(seed_traffic(application))
        made = Console(service)
        made.join(made.invite(EMAIL), PASSWORD)
        yield made


@pytest.fixture
def signed_in(page: Page, console: Console) -> Page:
    """A tab of the signed-in owner, with every violation of the page's policy collected."""
    sign_in(page, console)
    return page


@pytest.fixture(params=list(HANDS))
def hand(request: pytest.FixtureRequest, page: Page) -> Iterator[Hand]:
    """Operate the tab: every journey runs with the mouse and with the keyboard alone, and must cause no errors."""
    made: Hand = HANDS[request.param](page)
    thrown = watch(page)
    yield made
    assert thrown == []
    assert page.evaluate("window.violations ?? []") == []


@pytest.fixture
def owner(hand: Hand, console: Console) -> Hand:
    """The hand of the owner, who is signed in."""
    sign_in(hand.page, console)
    return hand


@pytest.fixture(scope="module")
def furniture(console: Console) -> None:
    """Something on every page of operators and of the account."""
    furnish(console)
