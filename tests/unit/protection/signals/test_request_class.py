"""What a request is for, which paths are files, and what programs ask for by a standard."""

import pytest

from agentgate.lib.clock import MINUTE_MS
from agentgate.protection.signals.part_budget import FREE, PER_PAGE, PartBudget, PartState
from agentgate.protection.signals.paths import path_labels
from agentgate.protection.signals.request_class import RequestClass, class_of, is_file

IMAGE = "image/avif,image/webp,*/*;q=0.8"
HTML = "text/html,application/xhtml+xml,*/*;q=0.8"


def fetch(dest: str, mode: str = "no-cors", site: str = "same-origin", accept: str = "*/*") -> dict[str, str]:
    return {"sec-fetch-dest": dest, "sec-fetch-mode": mode, "sec-fetch-site": site, "accept": accept}


@pytest.mark.parametrize(
    ("method", "headers", "is_browser", "expected"),
    [
        ("GET", fetch("document", "navigate", "none", HTML), True, RequestClass.PAGE),
        ("GET", fetch("iframe", "navigate", accept=HTML), True, RequestClass.PAGE),
        ("GET", fetch("image", accept=IMAGE), True, RequestClass.PART),
        ("GET", fetch("empty", "cors"), True, RequestClass.FETCH),
        # Behind a service worker that passes on.
        ("GET", fetch("empty", accept=IMAGE), True, RequestClass.PART),
        ("GET", fetch("empty", "same-origin", accept=HTML), True, RequestClass.PAGE),
        # Lies.
        ("GET", fetch("image", accept=HTML), True, RequestClass.PAGE),
        ("GET", fetch("image", "navigate"), True, RequestClass.PAGE),
        ("GET", fetch("image", site="none"), True, RequestClass.PAGE),
        ("POST", fetch("image", accept=IMAGE), True, RequestClass.ACTION),
        # Without Sec-Fetch: an older browser, and what is none.
        ("GET", {"accept": HTML}, True, RequestClass.PAGE),
        ("GET", {"accept": IMAGE}, True, RequestClass.PART),
        ("GET", {"accept": "*/*"}, True, RequestClass.FETCH),
        ("GET", {"accept": "*/*"}, False, RequestClass.PROGRAM),
    ],
)
def test_a_request_says_what_it_is_for_and_doubt_makes_it_a_page(method, headers, is_browser, expected):
    assert class_of(method, headers, is_browser=is_browser) is expected


@pytest.mark.parametrize("target", ["/a.png", "/x/y/app.min.js?v=3", "/img/a%20b.JPG", "/f/text.woff2", "/p.tar.gz"])
def test_a_file_is_told_by_its_name(target):
    assert is_file(target)


@pytest.mark.parametrize(
    "target",
    [
        *("/", "/page", "/page.html", "/page?a=.png", "/api/items.json", "/page;.png", "/page%2f.png", "/a/../b.png"),
        *("//a.png", "/index.php/a.png", "/page.aspx/a.css", "/png", "/.png/", "/a.png/"),
    ],
)
def test_what_could_run_a_program_is_no_file(target):
    assert not is_file(target)


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", "/.well-known/acme-challenge/x-Y_z", ("path.certificate", "path.standard")),
        ("GET", "/.well-known/security.txt", ("path.standard",)),
        ("PROPFIND", "/.well-known/caldav", ("path.standard",)),
        ("POST", "/.well-known/x", ()),
        ("GET", "/robots.txt?x=1", ("path.standard",)),
        ("GET", "/sitemap-posts.xml", ("path.standard",)),
        ("GET", "/blog/feed/", ("path.feed",)),
        ("GET", "/team.ics", ("path.feed",)),
        ("GET", "/?feed=rss2", ("path.feed",)),
        ("GET", "/feeding-cats", ()),
        ("POST", "/webhooks/stripe", ("path.webhook",)),
        ("POST", "/hooks/deploy/17", ("path.webhook",)),
        ("POST", "/sendgrid/events", ("path.webhook",)),
        ("POST", "/payments/callback/", ("path.webhook",)),
        # Words that sites use for other things too.
        ("POST", "/events/17/tickets", ()),
        ("POST", "/github/import", ()),
        ("POST", "/notifications/settings", ()),
        ("POST", "/square/reserve", ()),
        ("GET", "/webhooks/stripe", ()),
        ("POST", "/login", ("path.sign_in",)),
        ("POST", "/user/login/callback", ("path.sign_in",)),
        ("GET", "/.well-known/../login", ()),
        ("GET", "/.well-known/%2e%2e/login", ()),
        ("GET", "//robots.txt", ()),
        ("GET", "/robots.txt;x", ()),
    ],
)
def test_paths_of_standards_feeds_and_webhooks(method, target, expected):
    assert path_labels(method, target) == expected


def test_without_a_page_there_are_few_parts_and_time_gives_few_more():
    budget = PartBudget(FREE, FREE, at_ms=0)
    found = [budget.spend(1) for _ in range(FREE + 5)]

    assert found == [PartState.ORPHAN] * FREE + [PartState.OVER] * 5
    assert [budget.spend(MINUTE_MS + 1) for _ in range(FREE)].count(PartState.OVER) >= FREE // 2


def test_each_page_earns_its_parts_and_what_is_left_fades():
    budget = PartBudget(FREE, FREE, at_ms=0)
    for _ in range(3):
        budget.earn(10)

    assert [budget.spend(11) for _ in range(3 * PER_PAGE)] == [PartState.PAID] * (3 * PER_PAGE)
    for _ in range(50):
        budget.earn(20)
    # After some minutes there is what an open page needs, and no more.
    late = [budget.spend(20 * MINUTE_MS) for _ in range(PER_PAGE + 50)]
    assert late.count(PartState.PAID) == PER_PAGE
    assert late[-1] is PartState.OVER
