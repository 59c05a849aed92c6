"""Third-party packages in Chromium: with only the address and the site key changed, each gets a token for its form."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.compat.conftest import first, open_application, redeem
from tests.browser.site import ProtectedSite, protected_site
from tests.third_party.browser_packages import FIELDS, PACKAGES, SCRIPTS, VERIFY, BrowserPackage
from tests.third_party.install import bundles

# The first test also installs the packages, where they are not in the cache.
pytestmark = pytest.mark.timeout(600)

# One for each way in which a package learns the address; `make soak` runs them all.
SAMPLE = {"react-turnstile", "vue3-recaptcha2", "@hcaptcha/vue3-hcaptcha"}
VENDOR_HOST = re.compile(
    r"(?:https?:)?//(?:www\.google\.com|(?:www\.)?recaptcha\.net|(?:js\.)?hcaptcha\.com|challenges\.cloudflare\.com)/"
)


@pytest.fixture(scope="module")
def built() -> Path:
    """The bundle of each package."""
    return bundles()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProtectedSite]:
    """A site in monitor mode: what is tested is the way to the token and not what Chromium looks like."""
    actions = {"submit": {"browserRequired": True}}
    with protected_site(tmp_path_factory.mktemp("shop"), mode="monitor", actions=actions) as protected:
        yield protected


def rows() -> list[object]:
    """Return the packages, most of them for the long run alone."""
    return [pytest.param(row, id=row.name, marks=() if row.name in SAMPLE else pytest.mark.soak) for row in PACKAGES]


@pytest.mark.parametrize("row", rows())
def test_the_token_of_a_package_reaches_the_form_and_is_redeemed_once(
    page: Page, shop: ProtectedSite, built: Path, row: BrowserPackage
) -> None:
    program = (built / f"{row.name.replace('/', '+')}.js").read_text(encoding="utf-8")
    if row.way == "host replaced":
        program = VENDOR_HOST.sub(f"{shop.gate}/", program)
    head = ""
    if row.way == "script tag":
        query = "?render=explicit"
        head = f'<script src="{shop.gate}{SCRIPTS[row.service]}{query}" {row.tag}></script>'
    outside: list[str] = []
    page.on("request", lambda request: outside.append(request.url) if VENDOR_HOST.match(request.url) else None)
    open_application(page, shop, program, head=head)

    token = first(page, "success")
    field = (
        page.evaluate("name => new FormData(document.querySelector('form')).get(name)", FIELDS[row.service])
        if row.in_form
        else token
    )
    answers = [redeem(shop, VERIFY[row.service], token)["success"] for _ in range(2)]

    assert answers == [True, False]
    assert field == token
    assert outside == []
    assert redeem(shop, VERIFY[row.service], json.dumps(row.name))["success"] is False
