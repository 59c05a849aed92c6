"""Real browsers for tests: `page` is a tab with a separate profile in one Chromium per process, `site` its site."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from playwright.sync_api import Error as PlaywrightError

from agentgate.decision.signals import observe
from agentgate.decision.signals.families import evidence_labels
from tests.browser.chromium import Chromium, plain_user_agent, running_chromium
from tests.browser.site import ProtectedSite, protected_site


@pytest.fixture(autouse=True)
def believed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weigh no evidence of drivers: these tests are about everything else. `doubted` is for those about just that."""
    if "doubted" not in request.fixturenames:
        kept = {"evidence.missing"}
        monkeypatch.setattr(
            observe, "evidence_labels", lambda labels: sorted(kept.intersection(evidence_labels(labels)))
        )


@pytest.fixture
def doubted() -> None:
    """Weigh the evidence as the service does."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Chromium, started once per process. Tests ask for `browser`, which makes it usable."""
    with running_chromium() as started:
        yield started


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Browser]:
    """The browser, for tests that create contexts themselves."""
    with chromium.in_use() as running:
        yield running


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Create a separate profile, with the User-Agent of a browser that has a window."""
    # No `locale`: it would move Accept-Language to where no browser sends it.
    made = browser.new_context(user_agent=plain_user_agent(browser))
    try:
        yield made
    finally:
        # A tab that is closed while it sends a form can keep Chromium from closing its context.
        for opened in made.pages:
            with contextlib.suppress(PlaywrightError):
                opened.goto("about:blank", timeout=5_000)
        made.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A tab."""
    opened = context.new_page()
    opened.set_default_timeout(15_000)
    return opened


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ProtectedSite]:
    """Run a site in enforce mode on a separate service, so that no test uses up the limits of another."""
    with protected_site(tmp_path) as protected:
        yield protected
