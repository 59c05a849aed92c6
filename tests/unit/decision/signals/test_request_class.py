"""The purpose of a request, which paths are files, and which requests programs send by a standard."""

import pytest

from agentgate.decision.signals.paths import path_labels
from agentgate.decision.signals.request_class import RequestClass, class_of, is_file

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
def test_a_request_shows_what_it_is_for_and_doubt_makes_it_a_page(method, headers, is_browser, expected):
    assert class_of(method, headers, is_browser=is_browser) is expected


@pytest.mark.parametrize("target", ["/a.png", "/x/y/app.min.js?v=3", "/img/a%20b.JPG", "/f/text.woff2", "/p.tar.gz"])
def test_a_file_is_shown_by_its_name(target):
    assert is_file(target)


@pytest.mark.parametrize(
    "target",
    [
        *("/", "/page", "/page.html", "/page?a=.png", "/api/items.json", "/page;.png", "/page%2f.png", "/a/../b.png"),
        *("//a.png", "/index.php/a.png", "/page.aspx/a.css", "/png", "/.png/", "/a.png/"),
    ],
)
def test_what_could_run_a_program_is_not_a_file(target):
    assert not is_file(target)


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", "/.well-known/acme-challenge/x-Y_z", ("path.certificate", "path.standard")),
        ("GET", "/.well-known/security.txt", ("path.standard",)),
        ("HEAD", "/robots.txt?x=1", ("path.standard",)),
        ("OPTIONS", "/robots.txt", ("path.protocol",)),
        ("POST", "/.well-known/x", ()),
        ("GET", "/.well-known/", ()),
        ("GET", "/sitemap-posts.xml", ("path.standard",)),
        ("GET", "/maps/sitemap.xml", ()),
        ("GET", "/feed", ("path.feed",)),
        ("GET", "/feed?x=1", ()),
        ("POST", "/feed", ()),
        ("GET", "/blog/feed/", ()),
        ("GET", "/?feed=rss2", ()),
        ("GET", "/p/1/feed", ()),
        ("POST", "/webhooks/stripe", ()),
        ("GET", "/repo.git/info/refs?service=git-upload-pack", ("path.protocol",)),
        ("GET", "/repo.git/info/refs", ()),
        ("POST", "/repo.git/git-upload-pack", ("path.protocol",)),
        ("GET", "/v2/", ("path.protocol",)),
        ("GET", "/v2/library/nginx/manifests/latest", ("path.protocol",)),
        ("GET", "/v2/prices", ()),
        ("GET", "/simple/requests/", ("path.protocol",)),
        ("GET", "/dists/stable/InRelease", ("path.protocol",)),
        ("PROPFIND", "/dav/ann/", ("path.protocol",)),
        ("GET", "/.well-known/../login", ()),
        ("GET", "/.well-known/%2e%2e/login", ()),
        ("GET", "//robots.txt", ()),
        ("GET", "/robots.txt;x", ()),
    ],
)
def test_paths_of_standards_feeds_and_tools(method, target, expected):
    assert path_labels(method, target) == expected


def test_declared_feeds_replace_the_root_names():
    feeds = frozenset({"/blog/feed", "/?feed=rss2"})

    assert path_labels("GET", "/?feed=rss2", feeds) == ("path.feed",)
    assert path_labels("GET", "/feed", feeds) == ()
