"""Steps that tests of the consoles share."""

from typing import Any

from playwright.sync_api import BrowserContext, Page, Request

from tests.browser.axe import load_axe, run_axe
from tests.browser.steps import COLLECT_VIOLATIONS, wait_for
from tests.support.service import RunningService

EMAIL = "owner@example.com"
PASSWORD = "correct horse battery"
SITE = "site_demo_shop"
STILL_MS = 100


class Console:
    """A running service, and what tests do there without a browser."""

    def __init__(self, service: RunningService) -> None:
        self.service = service
        self.url = service.public_url
        self.admin_url = service.admin_url

    def invite(self, email: str, role: str = "owner") -> str:
        """Invite a user into the demo's account; return the secret of the link."""
        account_id = self.service.operator.get(f"/v1/admin/sites/{SITE}").json()["customerId"]
        body = {"email": email, "customerId": account_id, "role": role}
        made = self.service.operator.post("/v1/admin/accounts", json=body)
        assert made.status_code == 201, made.text
        return str(made.json()["inviteUrl"].rpartition("#")[2])

    def join(self, token: str, password: str) -> None:
        """Accept an invitation over the API."""
        body = {"token": token, "password": password}
        with_cookies = self.service.new_public_client()
        answer = with_cookies.post("/v1/account/invite/accept", json=body)
        assert answer.status_code == 200, answer.text

    def page(self, name: str, site: str = SITE) -> str:
        """Return the address of a site's page."""
        return f"{self.url}/console/sites/{site}/{name}"


class OpenRequests:
    """The open requests of a tab. Playwright's "networkidle" would wait half a second longer."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._open: set[Request] = set()
        page.on("request", self._note)
        page.on("requestfinished", self._drop)
        page.on("requestfailed", self._drop)

    def clear(self) -> None:
        """Discard the requests of the previous page."""
        self._open.clear()

    def are_answered(self) -> bool:
        """Return whether all is there that the page asked for, and shown."""
        return not self._open and not self._page.locator("main [aria-busy=true], main .skel").count()

    def wait_until_answered(self) -> None:
        """Wait until the page has loaded everything and sends no more requests."""

        def is_still() -> bool:
            if not self.are_answered():
                return False
            self._page.wait_for_timeout(STILL_MS)
            return self.are_answered()

        wait_for(self._page, is_still)

    def _note(self, request: Request) -> None:
        self._open.add(request)

    def _drop(self, request: Request) -> None:
        self._open.discard(request)


def sign_in(page: Page, console: Console, email: str = EMAIL, password: str = PASSWORD) -> None:
    """Sign in over the API, as the browser of this tab."""
    watch(page)
    answer = page.request.post(f"{console.url}/v1/account/login", data={"email": email, "password": password})
    assert answer.ok, answer.text()


def watch(page: Page) -> list[str]:
    """Collect what a page must not do: break its policy, throw, or ask another host."""
    foreign: list[str] = []
    page.add_init_script(COLLECT_VIOLATIONS)
    page.on("pageerror", lambda failure: foreign.append(str(failure)))
    return foreign


def open_page(page: Page, url: str, heading: str) -> None:
    """Open a page of the console and wait until it shows its heading."""
    page.goto(url)
    wait_for(page, lambda: page.locator("main h1").count() and heading in page.locator("main h1").inner_text())


def check_page(page: Page) -> None:
    """Hold the page as it is now against axe, its own policy, and sideways scrolling."""
    load_axe(page)
    found = run_axe(page)["violations"]
    assert not found, (page.url, found)
    assert page.evaluate("window.violations") == []
    width = page.evaluate("innerWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def looking(context_options: dict[str, Any], browser: Any) -> BrowserContext:
    """Return a browser context that lets axe be put into the page; the policy is held by other tests.

    Nothing moves in it: what fades in has too little contrast for as long as it does.
    """
    made: BrowserContext = browser.new_context(bypass_csp=True, reduced_motion="reduce", **context_options)
    return made
