"""Requests of a person's browser: page views with all subresources, reloads, restored tabs, forms, service workers.

Number and kinds of subresources follow the HTTP Archive's public report on page weight (median about 70 requests; 10%
of the pages have fewer than 25, 10% more than 170): here 20 to 150, some of them without a file name.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from tests.population.headers import Headers, Load, headers_of
from tests.population.sent import Sent, Should
from tests.population.visitors import Visitor

LEAST_PARTS, MOST_PARTS = 20, 150
# What parts there are: destination, share, paths with and without a file's name.
_PARTS = (
    (
        "image",
        48,
        ("/img/{}.webp", "/media/{}.jpg", "/uploads/2025/03/photo-{}.png", "/icons/{}.svg"),
        ("/_next/image?url=%2Fm%2F{}.png&w=640&q=75", "/picture/{}", "/thumb.php?id={}"),
    ),
    ("script", 24, ("/static/js/chunk-{}.js", "/assets/app.{}.mjs"), ("/load.php?modules=m{}&only=scripts",)),
    ("style", 9, ("/static/css/{}.css",), ("/load.php?modules=m{}&only=styles",)),
    ("font", 5, ("/fonts/text-{}.woff2",), ()),
    ("empty", 12, ("/i18n/{}.json",), ("/api/v1/items/{}", "/graphql?operationName=Item{}", "/suggest?q={}")),
    ("manifest", 1, ("/site.webmanifest",), ()),
    ("video", 1, ("/clips/{}.mp4",), ("/stream/{}",)),
)
_DYNAMIC_SHARE, _SPECULATION_SHARE = 0.18, 0.4
# Chromium's order of a page load that a service worker passed on, and of one that it makes ahead (speculation rules).
_WORKERS = (
    *("host", "connection", "sec-ch-ua-platform", "user-agent", "accept", "sec-ch-ua", "upgrade-insecure-requests"),
    *("sec-ch-ua-mobile", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "referer", "accept-encoding"),
)
_SPECULATED = (
    *("host", "connection", "upgrade-insecure-requests", "sec-purpose", "accept", "sec-ch-ua", "sec-ch-ua-mobile"),
    *("sec-ch-ua-platform", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "referer", "user-agent"),
)
_SHARES = [share for _, share, *_ in _PARTS]


@dataclass(frozen=True, slots=True)
class Habits:
    """How a person browses during a visit."""

    # Under a service worker that only passes on, everything is for a script.
    service_worker: bool = False
    # Ends with all tabs opened again at once.
    restores_tabs: bool = False
    reloads: bool = False
    prefetches: bool = False
    posts_forms: bool = False
    private_window: bool = False


def choose_habits(chance: Random) -> Habits:
    """Return the habits of a random person."""
    return Habits(
        service_worker=chance.random() < 0.06,
        restores_tabs=chance.random() < 0.02,
        reloads=chance.random() < 0.1,
        prefetches=chance.random() < 0.15,
        posts_forms=chance.random() < 0.1,
        private_window=chance.random() < 0.08,
    )


class Visit:
    """A visitor's page views, one after the other, each with all its parts."""

    def __init__(
        self, visitor: Visitor, habits: Habits, chance: Random, *, kind: str, first_view: int, at_ms: int
    ) -> None:
        self._visitor = visitor
        self._habits = habits
        self._chance = chance
        self._kind = kind
        self._view = first_view
        self._at_ms = at_ms
        names = [name.lower() for name, _ in headers_of(visitor.browser, Load(visitor.host, cookie="a=1"))]
        self._before_cookie = frozenset(names[: names.index("cookie")])

    def views(self) -> Iterator[list[Sent]]:
        """Yield each page view: the navigation, then its parts."""
        visitor, habits = self._visitor, self._habits
        for page in range(len(visitor.paths)):
            navigation = visitor.first_navigation() if page == 0 else visitor.navigation(page)
            yield self._page(navigation.url, navigation.headers, page, first=page == 0)
            if habits.reloads and page == 1:
                again = _after(navigation.headers, "user-agent", ("cache-control", "max-age=0"), visitor.browser.http)
                yield self._page(navigation.url, again, page, few=True)
            if habits.posts_forms and page == 2:
                yield self._form(page)
        if habits.restores_tabs:
            for page in range(len(visitor.paths)):
                load = Load(visitor.host, cookie=visitor.cookie())
                yield self._page(
                    visitor.origin + visitor.paths[page], headers_of(visitor.browser, load), page, few=True
                )

    def _page(
        self, url: str, headers: Headers, page: int, *, first: bool = False, few: bool = False, method: str = "GET"
    ) -> list[Sent]:
        # Between two views of one person: some seconds of reading.
        self._at_ms += 0 if first else self._chance.randrange(3_000, 25_000)
        if self._habits.service_worker and not first:
            is_chromium = self._visitor.browser.engine == "chromium"
            headers = _page_by_chromiums_worker(headers) if is_chromium else _by_service_worker(headers)
        sent = [self._sent(method, url, headers)._replace(is_navigation=True)]
        for count, part in enumerate(self._parts(page, first=first, few=few)):
            sent.append(part._replace(at_ms=self._at_ms + 80 + count * 12))
        self._view += 1
        return sent

    def _parts(self, page: int, *, first: bool, few: bool) -> Iterator[Sent]:
        chance, visitor = self._chance, self._visitor
        number = min(max(int(chance.lognormvariate(4.0, 0.55)), LEAST_PARTS), MOST_PARTS)
        if few:
            number = chance.randrange(3, 12)
        if first:
            yield self._part("image", "/favicon.ico", page)
        for destination, _, files, others in chance.choices(_PARTS, _SHARES, k=number):
            dynamic = others and (destination == "empty" or chance.random() < _DYNAMIC_SHARE)
            path = chance.choice(others if dynamic else files).format(chance.randrange(5_000))
            yield self._part(destination, path, page)
        if self._habits.prefetches:
            for _ in range(chance.randrange(1, 6)):
                path = f"/products/{chance.randrange(9_000)}"
                if visitor.browser.engine == "chromium" and chance.random() < _SPECULATION_SHARE:
                    navigation = replace(visitor, paths=(*visitor.paths[: page + 1], path)).navigation(page + 1)
                    yield self._sent("GET", navigation.url, _in_order(_SPECULATED, navigation.headers))
                    continue
                request = visitor.part("empty", path, page=page)
                purpose = "x-moz" if visitor.browser.engine == "gecko" else "sec-purpose"
                yield self._sent("GET", request.url, [*request.headers, (purpose, "prefetch")])
        if self._habits.posts_forms:
            yield self._call(page)

    def _part(self, destination: str, path: str, page: int) -> Sent:
        request = self._visitor.part(destination, path, page=page)
        headers = _by_service_worker(request.headers) if self._habits.service_worker else request.headers
        return self._sent("GET", request.url, headers)

    def _call(self, page: int) -> Sent:
        request = self._visitor.part("empty", "/api/v1/events", page=page)
        body = [("content-type", "application/json"), ("content-length", "182"), ("origin", self._visitor.origin)]
        return self._sent("POST", request.url, [request.headers[0], *body, *request.headers[1:]])

    def _form(self, page: int) -> list[Sent]:
        navigation = self._visitor.navigation(page)
        body = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("content-length", "61"),
            ("origin", self._visitor.origin),
        ]
        headers = [navigation.headers[0], *body, *navigation.headers[1:]]
        return self._page(f"{self._visitor.origin}/newsletter", headers, page, few=True, method="POST")

    def _sent(self, method: str, url: str, headers: Headers) -> Sent:
        visitor = self._visitor
        if self._habits.private_window:
            headers = [(name, value) for name, value in headers if name.lower() != "cookie"]
        name = f"{visitor.browser.name} {visitor.browser.platform}"
        return Sent(
            *(self._kind, name, method, url, headers, visitor.address, Should.PASS, self._at_ms, self._view),
            person=visitor.number + 1,
            before_cookie=self._before_cookie,
        )


def _by_service_worker(headers: Headers) -> Headers:
    """Return the headers of a request that a worker passed on: for a script, and no navigation any more."""
    changed = {"sec-fetch-dest": "empty", "sec-fetch-mode": "same-origin"}
    return [
        (name, changed[name.lower()] if name.lower() in changed and value != "no-cors" else value)
        for name, value in headers
        if name.lower() not in {"sec-fetch-user", "upgrade-insecure-requests"}
    ]


def _page_by_chromiums_worker(headers: Headers) -> Headers:
    """Return a page load that a worker passed on with `fetch(event.request)`: a navigation without a user."""
    changed = [(name, "empty" if name.lower() == "sec-fetch-dest" else value) for name, value in headers]
    return _in_order(_WORKERS, [pair for pair in changed if pair[0].lower() != "sec-fetch-user"])


def _in_order(order: tuple[str, ...], headers: Headers) -> Headers:
    """Return headers in another order of Chromium's; all else stays at the end."""
    given = {"sec-purpose": ("sec-purpose", "prefetch")} if "sec-purpose" in order else {}
    by_name = given | {name.lower(): (name, value) for name, value in headers}
    if "sec-purpose" in order:
        by_name.pop("sec-fetch-user", None)
    listed = [by_name.pop(name) for name in order if name in by_name]
    return [*listed, *by_name.values()]


def _after(headers: Headers, name: str, header: tuple[str, str], http: int) -> Headers:
    spelled = header if http == 2 else ("-".join(part.title() for part in header[0].split("-")), header[1])
    places = [place for place, (each, _) in enumerate(headers) if each.lower() == name]
    return [*headers[: places[0]], spelled, *headers[places[0] :]]
