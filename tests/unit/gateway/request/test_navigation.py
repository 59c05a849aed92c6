"""Requests that get a challenge page: page loads of browsers of every age, not scripts, subresources or programs."""

import pytest

from agentgate.gateway.request.navigation import framed_by, is_navigation

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
WEBVIEW = "Mozilla/5.0 (Linux; Android 15; CPH2605 Build/AP3A.240617.008; wv) AppleWebKit/537.36 Chrome/131.0.0.0"
IE8 = "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0)"
NOKIA = "Nokia6300/2.0 (07.21) Profile/MIDP-2.0 Configuration/CLDC-1.1"
LINKS, ELINKS = "Links (2.29; Linux x86_64; GNU C 13.2; text)", "ELinks/0.16.1.1 (textmode; Linux; 80x24-2)"
LYNX = "Lynx/2.9.0dev.12 libwww-FM/2.14 SSL-MM/1.4.1 GNUTLS/3.7.8"
HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
FORM = "application/x-www-form-urlencoded"

PEOPLE = {
    "Chrome": {"user-agent": CHROME, "accept": HTML, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
    "a frame": {"user-agent": CHROME, "accept": HTML, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
    "a service worker in Chromium": {
        "user-agent": CHROME,
        "accept": HTML,
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "empty",
    },
    "a service worker elsewhere": {
        "user-agent": CHROME,
        "accept": HTML,
        "sec-fetch-mode": "same-origin",
        "sec-fetch-dest": "empty",
    },
    "plain HTTP": {"user-agent": CHROME, "accept": HTML},
    "a WebView": {"user-agent": WEBVIEW, "accept": HTML, "x-requested-with": "com.example.app"},
    "a WebView with fetch metadata": {
        "user-agent": WEBVIEW,
        "accept": HTML,
        "x-requested-with": "com.facebook.katana",
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "document",
    },
    "a WebView that opens an address as it likes": {"user-agent": WEBVIEW, "accept": "*/*"},
    "Internet Explorer": {"user-agent": IE8, "accept": "image/gif, image/jpeg, application/x-ms-application, */*"},
    "Internet Explorer, reloaded": {"user-agent": IE8, "accept": "*/*", "referer": "http://shop.example/"},
    "a feature phone": {"user-agent": NOKIA, "accept": "application/vnd.wap.xhtml+xml, text/vnd.wap.wml, */*"},
    "a feature phone that says nothing": {"user-agent": NOKIA},
    "Links": {"user-agent": LINKS, "accept": "*/*"},
    "ELinks": {"user-agent": ELINKS, "accept": "*/*"},
    "Lynx": {"user-agent": LYNX, "accept": "text/html, text/plain, text/sgml, text/css, */*;q=0.01"},
}
OTHERS = {
    "fetch()": {"user-agent": CHROME, "accept": "*/*", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"},
    "fetch() for HTML": {"user-agent": CHROME, "accept": HTML, "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"},
    "a picture": {"user-agent": CHROME, "accept": "image/*", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
    "XMLHttpRequest": {"user-agent": CHROME, "accept": HTML, "x-requested-with": "XMLHttpRequest"},
    "fetch() on plain HTTP": {"user-agent": CHROME, "accept": "*/*", "referer": "http://shop.example/"},
    "JSON on plain HTTP": {"user-agent": CHROME, "accept": "application/json, text/plain, */*"},
    "JSON of an old browser": {"user-agent": IE8, "accept": "application/json, */*"},
    "a picture on plain HTTP": {"user-agent": CHROME, "accept": "image/webp,image/apng,image/*,*/*;q=0.8"},
    "a style of an old browser": {"user-agent": IE8, "accept": "text/css, */*"},
    "hints without metadata": {"user-agent": CHROME, "accept": "*/*", "sec-ch-ua": '"Chromium";v="142"'},
    "curl": {"user-agent": "curl/8.5.0", "accept": "*/*"},
    "a library": {"user-agent": "python-requests/2.32.3", "accept": "*/*"},
    "nobody": {},
}


@pytest.mark.parametrize("who", PEOPLE)
def test_people_are_shown_a_page(who: str) -> None:
    assert is_navigation(PEOPLE[who].get)


@pytest.mark.parametrize("who", OTHERS)
def test_scripts_subresources_and_programs_are_not(who: str) -> None:
    assert not is_navigation(OTHERS[who].get)


@pytest.mark.parametrize(
    ("method", "content_type", "shown"),
    [
        ("POST", FORM, True),
        ("POST", "multipart/form-data; boundary=x", True),
        ("POST", "application/json", False),
        ("PUT", FORM, False),
        ("PROPFIND", "", False),
        ("HEAD", "", True),
    ],
)
def test_the_method_and_what_is_sent_count(method: str, content_type: str, *, shown: bool) -> None:
    headers = {"user-agent": CHROME, "accept": HTML, "content-type": content_type}

    assert is_navigation(headers.get, method) is shown


def test_a_frame_is_of_the_same_site_or_of_another() -> None:
    frame = {"sec-fetch-dest": "iframe"}

    assert framed_by({"sec-fetch-dest": "document"}.get) == ""
    assert framed_by({**frame, "sec-fetch-site": "same-site"}.get) == "same"
    assert framed_by({**frame, "sec-fetch-site": "cross-site"}.get) == "cross"
