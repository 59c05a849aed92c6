"""One WordPress for the tests of the plug-in, and what they do with it."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page

from tests.browser.site import SITE_KEY, ProtectedSite, protected_site
from tests.browser.wordpress.blog import PASSWORD, Blog, blog, missing
from tests.support.ports import free_ports
from tests.support.tokens import mint

ACTIONS = ("login", "register", "lost_password", "comment", "checkout", "contact")
PEOPLE = """
foreach (['ben' => 'author', 'sue' => 'subscriber'] as $name => $role) {
    $id = wp_create_user($name, 'correct horse battery', $name . '@example.com');
    (new WP_User($id))->set_role($role);
}
$ben = get_user_by('login', 'ben')->ID;
$post = wp_insert_post(['post_title' => 'Of Ben', 'post_status' => 'publish', 'post_author' => $ben]);
wp_insert_comment(['comment_post_ID' => $post, 'comment_author' => 'Reader', 'comment_content' => 'Why?']);
echo $post;
"""


@pytest.fixture(scope="package")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ProtectedSite, int]]:
    """The service, and the port at which WordPress will be."""
    if lacking := missing():
        pytest.skip(f"not installed: {', '.join(lacking)} (ALL_UPSTREAMS=1 scripts/servers packages)")
    [port] = free_ports(1)
    site = {
        "allowedOrigins": [f"http://127.0.0.1:{port}"],
        "actions": {name: {"browserRequired": True} for name in ACTIONS},
    }
    with protected_site(tmp_path_factory.mktemp("gate"), **site) as running:
        yield running, port


@pytest.fixture(scope="package")
def wordpress(tmp_path_factory: pytest.TempPathFactory, gate: tuple[ProtectedSite, int]) -> Iterator[Blog]:
    """WordPress behind nginx and PHP-FPM, whose forms ask a running service. Ben writes, Sue reads."""
    site, port = gate
    constants = {"AGENTGATE_URL": site.gate, "AGENTGATE_SITE_KEY": SITE_KEY, "AGENTGATE_SECRET": site.secret}
    with blog(tmp_path_factory.mktemp("wp"), port, **constants) as running:
        running.ask(PEOPLE)
        yield running


@pytest.fixture
def token(gate: tuple[ProtectedSite, int]) -> Callable[[str], str]:
    """Return a function that creates a token for an action, as a browser gets one."""
    site, port = gate
    service = site.service

    def make(action: str) -> str:
        return mint(
            service.application.signing_keys,
            SITE_KEY,
            now_ms=service.clock.now_ms(),
            action=action,
            origin=f"http://127.0.0.1:{port}",
        )

    return make


@pytest.fixture
def client(wordpress: Blog) -> Iterator[httpx.Client]:
    """A program without a browser, which has read the plug-in's source."""
    cookies = {"wordpress_test_cookie": "WP Cookie check"}
    with httpx.Client(base_url=wordpress.url, timeout=60, cookies=cookies) as made:
        yield made


def checked(page: Page) -> None:
    """Wait until the check has left its token in the form."""
    page.wait_for_function("document.querySelector('[name=agentgate-token]')?.value", timeout=30_000)


def sign_in(wordpress: Blog, page: Page, name: str = "ann") -> None:
    """Sign in as people do."""
    page.goto(f"{wordpress.url}/wp-login.php")
    page.fill("#user_login", name)
    page.fill("#user_pass", PASSWORD)
    checked(page)
    page.click("#wp-submit")
    page.wait_for_url("**/wp-admin/**")


def send_sign_in(client: httpx.Client, name: str, password: str, **fields: Any) -> tuple[bool, str]:
    """Send the sign-in form; return whether it signed in, and the error."""
    body = {"log": name, "pwd": password, "wp-submit": "Log In", "testcookie": "1", **fields}
    reply = client.post("/wp-login.php", data=body)
    assert reply.status_code in {200, 302}, reply.text
    error = reply.text.partition('id="login_error"')[2].partition("</div>")[0]
    is_in = "wordpress_logged_in" in str(reply.headers)
    for name_of in list(client.cookies):
        if name_of != "wordpress_test_cookie":
            client.cookies.delete(name_of)
    return is_in, error
