"""Takes the screenshots of the documentation in both themes: `make screenshots` writes `docs/screenshots`."""

import base64
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from agentgate.server.demo.installation import seed, seed_traffic
from tests.browser.chromium import running_chromium
from tests.browser.console.furniture import furnish, furnish_account, sign_in_operator
from tests.browser.console.steps import EMAIL, PASSWORD, SITE, Console, sign_in
from tests.support.service import ADMIN_KEY, running_service

TARGET = Path(__file__).parents[3] / "docs" / "screenshots"
# Name -> listener, path, and the element to wait for.
PAGES = {
    "sites": ("public", "/console/sites", "tbody a"),
    "overview": ("public", f"/console/sites/{SITE}/overview", ".chart polyline"),
    "decisions": ("public", f"/console/sites/{SITE}/decisions?range=7d", "tbody .out"),
    "install": ("public", f"/console/sites/{SITE}/install", ".thousand"),
    "rules": ("public", f"/console/sites/{SITE}/rules", ".editor textarea"),
    "webhooks": ("public", f"/console/sites/{SITE}/webhooks", ".card footer"),
    "members": ("public", "/console/members", "tbody tr"),
    "account": ("public", "/console/account", ".danger"),
    "service": ("admin", "/operator/service", ".tiles"),
    "access-requests": ("admin", "/operator/access-requests", ".answers"),
    "labeling": ("admin", f"/operator/sites/{SITE}/labeling", "aside .path"),
}
AS_WEBP = """async (png) => {
  const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  canvas.getContext('2d').drawImage(bitmap, 0, 0);
  const bytes = new Uint8Array(await (await canvas.convertToBlob({type: 'image/webp', quality: 0.8})).arrayBuffer());
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}"""


def main() -> None:
    """Take every screenshot from a service with the demo's traffic."""
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, running_chromium() as chromium:
        settings = read_settings(
            {
                "AGENTGATE_DATA_DIR": folder,
                "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
                "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
                "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
                "AGENTGATE_CONFIRM_CRAWLERS": "off",
            }
        )
        with running_service(settings, SystemClock()) as service, chromium.in_use() as browser:
            service.run(seed(service.application.stores.store, service.application.clock))
            service.run(seed_traffic(service.application))
            console = Console(service)
            console.join(console.invite(EMAIL), PASSWORD)
            furnish(console)
            take_all(browser, console)


def take_all(browser: Browser, console: Console) -> None:
    """Take every picture in both themes."""
    first = True
    for scheme in ("light", "dark"):
        options = {"viewport": {"width": 1280, "height": 800}, "bypass_csp": True}
        context = browser.new_context(color_scheme=scheme, **options)  # type: ignore[arg-type]
        page = context.new_page()
        sign_in(page, console)
        if first:
            furnish_account(page, console)
        first = False
        sign_in_operator(page, console)
        for name, (listener, path, there) in PAGES.items():
            page.goto((console.url if listener == "public" else console.admin_url) + path)
            page.locator(there).first.wait_for()
            # Charts and lists render again after their last response.
            page.wait_for_timeout(500)
            save(page, TARGET / f"{name}{'-dark' if scheme == 'dark' else ''}.webp")
        context.close()


def save(page: Page, path: Path) -> None:
    """Save the viewport as WebP, which is half the size of PNG."""
    png = base64.b64encode(page.screenshot()).decode()
    path.write_bytes(base64.b64decode(page.evaluate(AS_WEBP, png)))


if __name__ == "__main__":
    main()
