"""Scrapers and form senders that have read the source, behind a real proxy. Each claims to be something else."""

import contextlib
import itertools
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from agentgate.browser_check.budgets import PER_HOUR, TokenBudgets
from agentgate.browser_check.tokens.clearance import ClearanceHolder, Clearances
from agentgate.lib.enums import ClearanceLevel
from tests.attacks.gains import Gain
from tests.proxies.visiting import (
    BROWSER,
    NAVIGATION,
    ORIGIN,
    BrowserBehindProxy,
    Headers,
    Installed,
    Told,
    new_address,
    read_answer,
)
from tests.support.agent_client import SigningAgent
from tests.support.browser_client import CHROME

FORM = ("Content-Type", "application/x-www-form-urlencoded")
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0"
# Form paths for which the site defines no route, as on a typical site.
FORM_PATHS = ("/payment", "/otp", "/transfer", "/register", "/contact", "/order", "/password", "/comment")
# User-Agents of a pool of clearances, addresses of a browser that collects tokens, and tokens that it solves itself.
NAMES, ADDRESSES, COLLECTED = 120, 6, 12
PROGRAMS = ("pip/24.0", "rclone/v1.66.0", "WhatsApp/2.23.20.0", "Foo/1.0")
NETWORK = 100
# After this many blocked requests in a row, a limit has ended the attack.
REFUSED_ENOUGH = 20
WEBHOOK, VISITS = ("Stripe-Signature", "t=1,v1=0"), 10
# The statuses of requests that do not reach the site.
REFUSALS = (401, 402, 403, 429)
RETRIES = 5
# No attack lasts longer.
MOST_S, MINUTE_S = 50.0, 60.0
FEW_IMAGES, MANY_IMAGES, FILES = 20, 150, 4
# The bars: pages a minute of an address and of a network without a clearance, of all clearances of an address with up
# to 50 browsers and with 120, and tokens of a network within an hour without a press.
OF_ADDRESS, OF_NETWORK, OF_CLEARANCES, OF_MANY_CLEARANCES, OF_CHECK = 180, 1_500, 600, 1_440, 500


class Step(NamedTuple):
    """A request of an attacker. `is_page`: its response is content that a scraper wants."""

    target: str
    headers: Headers = NAVIGATION
    is_page: bool = True
    method: str = "GET"
    body: bytes = b""


Steps = Callable[[], Iterator[Step]]


class Visitor:
    """One address, and its connection to the proxy."""

    def __init__(self, site: Installed, address: str) -> None:
        self._site, self._address = site, address
        self._connection: socket.socket | None = None

    def is_served(self, step: Step) -> bool:
        """Send a request; return whether the site behind the proxy responded."""
        for _ in range(RETRIES):
            told = self._exchange(step)
            if told.status != 503:
                break
            # A busy machine: the service shed the check, or the proxy got no response in time.
            time.sleep(0.2)
        is_served = told.status == 200 and told.body.startswith(b'["')
        # A failed proxy or service serves nothing either.
        assert is_served or told.status in REFUSALS, f"{step.method} {step.target}: {told.status} {told.body[:200]!r}"
        return is_served

    def _exchange(self, step: Step) -> Told:
        told = None
        if self._connection is not None:
            # Proxies close idle connections.
            with contextlib.suppress(ConnectionError):
                told = self._ask(self._connection, step)
        if told is None:
            self.close()
            self._connection = self._site.connect(self._address)
            told = self._ask(self._connection, step)
        if (told.headers["connection"] or "").lower() == "close":
            self.close()
        return told

    def _ask(self, connection: socket.socket, step: Step) -> Told:
        self._site.send(connection, step.method, step.target, usual=step.headers, body=step.body)
        return read_answer(connection, step.method)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def scrape(site: Installed, name: str, steps: Steps, *, most: int, addresses: int = 1) -> Gain:
    """Send an attacker's requests until a limit blocks them; return the pages that it got."""
    network = next(_networks)
    visitors = [Visitor(site, f"127.{network // 250 + 10}.{network % 250}.{number + 1}") for number in range(addresses)]
    enough = max(REFUSED_ENOUGH, 2 * addresses)
    got = asked = refused_in_a_row = 0
    began_s = time.monotonic()
    try:
        # Each address runs the whole pattern.
        for turn in zip(*(steps() for _ in visitors), strict=True):
            if time.monotonic() - began_s > MOST_S or refused_in_a_row >= enough:
                break
            for visitor, step in zip(visitors, turn, strict=True):
                is_served = visitor.is_served(step)
                if addresses > 1:
                    # Some proxies have few workers, and each serves one open connection.
                    visitor.close()
                if step.is_page:
                    asked, got = asked + 1, got + is_served
                    refused_in_a_row = 0 if is_served else refused_in_a_row + 1
    finally:
        for visitor in visitors:
            visitor.close()
    return pages_in(name, got, asked, time.monotonic() - began_s, most)


def pages_in(name: str, got: int, asked: int, took_s: float, most: int) -> Gain:
    """Return the gain of an attack in pages. The limit per minute is scaled to the duration."""
    detail = f"{got} of {asked} in {took_s:.1f} s" + (", no limit reached" if got == asked else "")
    return Gain(name, got, "pages", detail, most=most * (1 + took_s / MINUTE_S))


_networks = itertools.count(1)


def as_part(destination: str, mode: str) -> Headers:
    """Return a browser's headers for a subresource."""
    changed = {"Sec-Fetch-Dest": destination, "Sec-Fetch-Mode": mode, "Sec-Fetch-Site": "same-origin"}
    return [(name, changed.get(name, value)) for name, value in BROWSER]


def as_program(name: str) -> Headers:
    """Return the headers of a program that names itself so."""
    return [("Host", "shop.example"), ("User-Agent", name), ("Accept", "*/*"), ("Accept-Language", "en")]


def plain() -> Iterator[Step]:
    """A browser's headers only: every claim is compared with them."""
    return (Step(f"/p/{number}") for number in itertools.count())


def feeds() -> Iterator[Step]:
    """Each page with a query that names a feed."""
    return (Step(f"/p/{number}?feed=rss2") for number in itertools.count())


def images_after_robots() -> Iterator[Step]:
    """`robots.txt`, then pages as images."""
    for number in itertools.count():
        yield Step("/robots.txt", is_page=False)
        for image in range(MANY_IMAGES):
            yield Step(f"/p/{number}/{image}", as_part("image", "no-cors"))


def fetches() -> Iterator[Step]:
    """Pages as calls of a script."""
    return (Step(f"/p/{number}", as_part("empty", "cors")) for number in itertools.count())


def parts() -> Iterator[Step]:
    """A page, then pages as its images."""
    for number in itertools.count():
        yield Step(f"/p/{number}")
        for image in range(FEW_IMAGES):
            yield Step(f"/p/{number}/{image}", as_part("image", "no-cors"))


def files() -> Iterator[Step]:
    """A page, then files that need not exist, so that the page counts less."""
    for number in itertools.count():
        yield Step(f"/p/{number}")
        for file in range(FILES):
            yield Step(f"/a/{number}-{file}.js", as_part("script", "no-cors"), is_page=False)


def of_program(name: str) -> Steps:
    """Return pages for a program's name."""
    return lambda: (Step(f"/p/{number}", as_program(name)) for number in itertools.count())


def everything() -> Iterator[Step]:
    """All claims in turn, and all of them in one request."""
    each = [plain(), feeds(), fetches(), parts(), files(), *(of_program(name)() for name in PROGRAMS)]
    for number in itertools.count():
        yield from map(next, each)
        claims = [*as_part("image", "no-cors"), ("X-Signature", "1"), WEBHOOK, ("Content-Type", "application/json")]
        yield Step(f"/hooks/{number}/feed?feed=rss2&type=rss", claims)
        yield Step(f"/hooks/{number}", [*as_program("pip/24.0"), *claims[8:]], method="POST", body=b"{}")


def tools() -> Iterator[Step]:
    """Pages for protocols of tools: version control, WebDAV, a preflight."""
    for number in itertools.count():
        yield Step(f"/p/{number}", as_program("git/2.39.0"))
        yield Step(f"/p/{number}", as_program("davfs2/1.6"), method="PROPFIND")
        yield Step(f"/p/{number}", [*as_program("Foo/1.0"), ("Access-Control-Request-Method", "GET")], method="OPTIONS")


CLAIMS: dict[str, Steps] = {
    "a browser's headers": plain,
    "?feed=rss2": feeds,
    "robots.txt, then pages as images": images_after_robots,
    "pages as fetches": fetches,
    "a page, then pages as its images": parts,
    "a page and four .js files": files,
    **{f"program {name}": of_program(name) for name in PROGRAMS},
    "tools": tools,
    "everything": everything,
}
# One address must not get more by these, nor a network.
OF_MANY_ADDRESSES = ("a browser's headers", "a page and four .js files", "everything")
OTHERS: dict[str, Headers] = {
    **{name: as_program(name) for name in ("sqlmap/1.8", "python-requests/2.32.0")},
    "Firefox": [
        (name, FIREFOX if name == "User-Agent" else value) for name, value in NAVIGATION if not name.startswith("sec-")
    ],
}
ALL_PATHS = {"method": "*", "pathPrefix": "/", "action": "login"}


def send_signed_forms(site: Installed) -> Gain:
    """POST to form paths with a header that is named like a signature, as a browser and as a program."""
    signed = ("X-Signature", "1")
    steps = [
        Step(path, [*headers, signed, FORM], method="POST", body=b"a=1")
        for path in FORM_PATHS
        for headers in (BROWSER, as_program("Foo/1.0"))
    ]
    return _open(site, "wholeSite: POST with X-Signature: 1", steps)


def override_methods(site: Installed) -> Gain:
    """Reach a GET route that needs a token by a form that names its method."""
    steps = [Step("/members", [*BROWSER, FORM], method="POST", body=b"_method=" + name) for name in (b"GET", b"get")]
    return _open(site, "_method=GET on a GET route with a token", steps)


def open_login(site: Installed) -> Gain:
    """POST to a route that needs a token, with every claim at once."""
    claims = [*as_part("empty", "cors"), ("X-Signature", "1"), FORM]
    targets = ("/login", "/login?feed=rss2", "/login?type=rss")
    return _open(
        site, "POST /login without a token", [Step(each, claims, method="POST", body=b"a=1") for each in targets]
    )


def _open(site: Installed, name: str, steps: list[Step]) -> Gain:
    visitor = Visitor(site, new_address())
    opened = sum(visitor.is_served(step) for step in steps)
    visitor.close()
    return Gain(name, opened, "requests let through", f"of {len(steps)}", most=0)


def send_denied(site: Installed) -> Gain:
    """Sign requests as a denied agent, on paths where a rule for feeds or webhooks would allow programs."""
    agent = SigningAgent()
    path = f"/v1/admin/sites/{site.site_key}/agent-policy"
    policy = {"agents": {agent.url: {"decision": "deny", "jwks": agent.jwks}}}
    assert site.service.operator.put(path, json=policy).status_code == 200
    steps = []
    for method, target, more in (
        ("GET", "/feed.xml", []),
        ("GET", "/p/1?feed=rss2", []),
        ("POST", "/hooks", [WEBHOOK]),
    ):
        signed = agent.headers(method, ORIGIN + target, created=site.service.clock.now_ms() // 1000)
        steps.append(Step(target, [*as_program("agent/1.0"), *more, *signed.items()], method=method))
    gain = _open(site, "a denied agent on feeds and webhooks", steps)
    assert site.service.operator.put(path, json={"agents": {}}).status_code == 200
    return gain


def misspell_rules(site: Installed) -> Gain:
    """Save a rule with a condition that does not exist; see whether it blocks visitors."""
    path = f"/v1/admin/sites/{site.site_key}/rules"
    before = site.service.operator.get(path).json()
    rule = {"name": "old", "match": {"all_label": ["ua.old"]}, "action": "block"}
    listed = {**before["ruleSet"], "rules": [rule, *before["ruleSet"]["rules"]]}
    for rules, revision in ((listed, 0), (before["ruleSet"], 1)):
        saved = site.service.operator.put(path, json={"ruleSet": rules, "revision": before["revision"] + revision})
        assert saved.status_code == 200, saved.text
        if not revision:
            opened = _open(site, "", [Step(f"/p/{number}") for number in range(VISITS)])
    blocked = VISITS - opened.amount
    return Gain("a rule with a misspelled condition", blocked, "visits blocked", f"of {VISITS}", most=0)


def collect_tokens(site: Installed) -> Gain:
    """Run the browser check without a browser and without a press, from six addresses of a network.

    Most tokens of the hour are counted in advance, because memory-hard proof of work takes too long for a test.
    """
    application, network = site.service.application, f"127.12.{next(_networks) % 250}"
    view = application.refresher.sites.find(site.site_key)
    assert view is not None
    budgets, counted = TokenBudgets(application.stores.shared_cache), PER_HOUR - COLLECTED
    for number in range(counted):
        address = f"{network}.{number % ADDRESSES + 1}"
        site.service.run(budgets.count(view.number, address, application.clock.now_ms()))
    browsers = [BrowserBehindProxy(site, f"{network}.{number + 1}") for number in range(ADDRESSES)]
    tokens = asked = 0
    for browser in browsers * (2 * COLLECTED // ADDRESSES):
        verified = browser.verify(browser.challenge().json())
        asked, tokens = asked + 1, tokens + (verified.json().get("status") == "passed")
    # Otherwise nothing was measured.
    assert tokens > 0
    detail = f"{counted} counted in advance, then {tokens} of {asked}"
    return Gain("one browser on six addresses", counted + tokens, "tokens an hour", detail, most=OF_CHECK)


def reuse_clearance(site: Installed, name: str, headers: Headers) -> Gain:
    """Let a person pass the check, then use the cookie from another client at that address."""
    address = f"127.9.{next(_networks) % 250}.1"
    browser = BrowserBehindProxy(site, address)
    token = browser.verify(browser.challenge().json()).json()["token"]
    sent = json.dumps({"token": token, "return": f"{ORIGIN}/members"}).encode()
    typed = [("Content-Type", "application/json"), ("Origin", ORIGIN)]
    passed = site.visit("POST", "/.agentgate/v1/gateway/pass", headers=typed, body=sent, address=address)
    cookie = ("Cookie", passed.headers["set-cookie"].partition(";")[0])
    visitor = Visitor(site, address)
    # The clearance is good in the browser that got it.
    assert visitor.is_served(Step("/own", [*NAVIGATION, cookie]))
    got = sum(visitor.is_served(Step(f"/p/{number}", [*headers, cookie])) for number in range(VISITS))
    assert visitor.is_served(Step("/own", [*NAVIGATION, cookie]))
    visitor.close()
    return Gain(f"a person's clearance, used by {name}", got, "pages", f"of {VISITS}", most=0)


def pool_clearances(site: Installed, user_agents: int, most: int) -> Gain:
    """Use the clearances that one address gets in an hour without the visible check, under so many User-Agents."""
    address, application = f"127.11.{next(_networks) % 250}.1", site.service.application
    settings = application.settings
    issuer = settings.public_base_url.rstrip("/") or f"http://{settings.public_listen}"
    clearances = Clearances(application.keyring, settings.clearance_seconds, issuer=issuer)
    pool = []
    for number in range(PER_HOUR):
        name = CHROME.replace("142", str(142 - number % user_agents))
        issued = clearances.issue(
            site_key=site.site_key,
            origin=ORIGIN,
            holder=ClearanceHolder(address, name.encode()),
            level=ClearanceLevel.CHECKED,
            now_ms=application.clock.now_ms(),
        )
        as_named = [(header, name if header == "User-Agent" else value) for header, value in NAVIGATION]
        pool.append([*as_named, ("Cookie", f"{issued.name}={issued.value}")])
    visitor, got, asked, refused_in_a_row = Visitor(site, address), 0, 0, 0
    began_s = time.monotonic()
    while refused_in_a_row < REFUSED_ENOUGH and time.monotonic() - began_s < MOST_S:
        is_served = visitor.is_served(Step(f"/p/{asked}", pool[asked % len(pool)]))
        got, asked, refused_in_a_row = got + is_served, asked + 1, 0 if is_served else refused_in_a_row + 1
    visitor.close()
    name = f"{len(pool)} clearances of one address, {user_agents} User-Agents"
    return pages_in(name, got, asked, time.monotonic() - began_s, most)


def fill_suggestions(site: Installed) -> list[Gain]:
    """Ask for a path as many programs from one network, let the owner accept every suggestion, and ask again."""
    network = f"127.10.{next(_networks) % 250}"
    visitors = [Visitor(site, f"{network}.{number + 1}") for number in range(NETWORK)]
    names = ("Stripe/1.0 (+https://stripe.com/docs/webhooks)", "Feedly/1.0", *PROGRAMS)
    signed = [("Stripe-Signature", "t=1"), ("Content-Type", "application/json")]
    steps = [
        Step("/admin-area", [*as_program(name)[:3], *signed], method=method, body=b"{}" if method == "POST" else b"")
        for name in names
        for method in ("GET", "POST")
    ]
    for visitor in visitors:
        for step in steps:
            visitor.is_served(step)
    application, operator = site.service.application, site.service.operator
    site.service.run(application.gateway.suggestions.save())
    place = f"/v1/admin/sites/{site.installation.site}/suggestions"
    listed = operator.get(place).json()["items"]
    for each in listed:
        operator.post(f"{place}/{each['id']}/accept", json={})
    opened = sum(visitor.is_served(step) for visitor in visitors for step in steps)
    for visitor in visitors:
        visitor.close()
    of = f"{NETWORK} addresses of one network, {len(names)} names"
    return [
        Gain("wholeSite: suggestions that a network creates", len(listed), "suggestions", of, most=0),
        Gain(
            "wholeSite: requests after accepting all",
            opened,
            "requests let through",
            f"of {len(visitors) * len(steps)}",
            most=0,
        ),
    ]


def attack_networks(site: Installed) -> list[Gain]:
    """Scrape from all addresses of a network."""
    return [
        scrape(site, f"{name}, {NETWORK} addresses", CLAIMS[name], most=OF_NETWORK, addresses=NETWORK)
        for name in OF_MANY_ADDRESSES
    ]


def attack_pages(site: Installed, more: Callable[[Installed], list[Gain]] = lambda _: []) -> list[Gain]:
    """Run all of these on a site with the default rules, then with a route for all paths, then with `wholeSite`."""
    gains = [scrape(site, name, steps, most=OF_ADDRESS) for name, steps in CLAIMS.items()]
    gains += [*more(site), pool_clearances(site, 1, OF_CLEARANCES), pool_clearances(site, NAMES, OF_MANY_CLEARANCES)]
    gains += [collect_tokens(site), override_methods(site), open_login(site)]
    gains += [send_denied(site), misspell_rules(site)]
    routes = site.service.operator.get(f"/v1/admin/sites/{site.site_key}").json()["routes"]
    for name, setting in (("route /*", {"routes": [*routes, ALL_PATHS]}), ("wholeSite", {"wholeSite": True})):
        site.change(**{"routes": routes, **setting})
        site.service.run(site.service.application.refresher.refresh())
        gains += [scrape(site, f"{name}: {claim}", steps, most=0) for claim, steps in CLAIMS.items()]
        gains += [reuse_clearance(site, f"{client}, {name}", headers) for client, headers in OTHERS.items()]
    return [*gains, send_signed_forms(site), *fill_suggestions(site)]
