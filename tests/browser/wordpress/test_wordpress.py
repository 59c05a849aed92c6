"""The WordPress plug-in in a real WordPress, with a real browser."""

import json

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.wordpress.blog import PASSWORD, Blog
from tests.browser.wordpress.conftest import checked, sign_in

pytestmark = pytest.mark.soak


def test_someone_signs_in_and_a_program_with_the_password_does_not(wordpress: Blog, page: Page) -> None:
    fields = {"log": "ann", "pwd": PASSWORD, "wp-submit": "Log In", "testcookie": "1"}
    program = httpx.post(
        timeout=60,
        url=f"{wordpress.url}/wp-login.php",
        data=fields,
        cookies={"wordpress_test_cookie": "WP Cookie check"},
    )

    sign_in(wordpress, page)

    assert "wordpress_logged_in" not in str(program.headers)
    assert "did not pass" in program.text


def test_someone_registers_and_a_program_does_not(wordpress: Blog, page: Page) -> None:
    httpx.post(
        timeout=60,
        url=f"{wordpress.url}/wp-login.php?action=register",
        data={"user_login": "bot", "user_email": "bot@example.com"},
    )

    page.goto(f"{wordpress.url}/wp-login.php?action=register")
    page.fill("#user_login", "bob")
    page.fill("#user_email", "bob@example.com")
    checked(page)
    page.click("#wp-submit")
    page.wait_for_url("**checkemail=registered**")

    assert (
        wordpress.ask("echo json_encode([username_exists('bob') > 0, username_exists('bot') > 0]);") == "[true,false]"
    )


def test_a_lost_password_needs_the_check(wordpress: Blog, page: Page) -> None:
    program = httpx.post(
        timeout=60, url=f"{wordpress.url}/wp-login.php?action=lostpassword", data={"user_login": "ann"}
    )

    page.goto(f"{wordpress.url}/wp-login.php?action=lostpassword")
    page.fill("#user_login", "ann")
    checked(page)
    page.click("#wp-submit")
    page.wait_for_url("**checkemail=confirm**")

    assert program.status_code == 200
    assert "did not pass" in program.text


def test_someone_comments_and_a_program_does_not(wordpress: Blog, page: Page) -> None:
    fields = {
        "comment": "Buy",
        "author": "Bot",
        "email": "bot@example.com",
        "comment_post_ID": "1",
        "comment_parent": "0",
    }
    program = httpx.post(timeout=60, url=f"{wordpress.url}/wp-comments-post.php", data=fields)

    page.goto(f"{wordpress.url}/?p=1")
    page.fill("#comment", "A good post")
    page.fill("#author", "Cleo")
    page.fill("#email", "cleo@example.com")
    checked(page)
    page.click("#submit")
    page.wait_for_url("**#comment-*")

    assert program.status_code == 403
    authors = "array_column(get_comments(), 'comment_author')"
    told = wordpress.ask(f"echo json_encode(array_map(fn ($name) => in_array($name, {authors}), ['Bot', 'Cleo']));")
    assert told == "[false,true]"


def test_the_settings_page_shows_which_forms_are_protected_and_never_the_secret(wordpress: Blog, page: Page) -> None:
    sign_in(wordpress, page)
    page.goto(f"{wordpress.url}/wp-admin/options-general.php?page=agentgate")

    expect(page.get_by_label("Sign-in")).to_be_checked()
    assert "ags_" not in page.content()


def test_administrators_find_the_settings_and_learn_that_the_plug_in_is_not_configured(wordpress: Blog) -> None:
    asked = """
        wp_set_current_user(get_user_by('login', 'ann')->ID);
        require_once ABSPATH . 'wp-admin/includes/plugin.php';
        \\AgentGate\\WordPress\\Settings::register();
        $link = \\AgentGate\\WordPress\\Settings::link(['<a>Deactivate</a>']);
        ob_start();
        \\AgentGate\\WordPress\\Settings::warn();
        $configured = ob_get_clean();
        define('AGENTGATE_OFF', true);
        ob_start();
        \\AgentGate\\WordPress\\Settings::warn();
        echo json_encode([$link[0], $configured, ob_get_clean()]);
    """
    link, configured, off = json.loads(wordpress.ask(asked))

    assert "options-general.php?page=agentgate" in link
    assert configured == ""
    assert "AGENTGATE_OFF" in off
    assert "No form is protected." in off


def test_a_visitor_without_javascript_gets_a_hint_at_the_form(wordpress: Blog) -> None:
    page = httpx.get(f"{wordpress.url}/wp-login.php", timeout=60).text

    assert "<noscript><p>This form needs JavaScript." in page
