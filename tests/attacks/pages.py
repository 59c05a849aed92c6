"""Scrapers and form senders that have read the source, behind a real proxy. Each claims to be something else."""

import itertools
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from agentgate.browser_check.scrutiny import TOKENS_PER_HOUR
from agentgate.browser_check.tokens.clearance import ClearanceHolder, Clearances
from agentgate.lib.enums import ClearanceLevel
from tests.attacks.gains import Gain, a_minute
from tests.proxies.visiting import (
    BROWSER,
    NAVIGATION,
    ORIGIN,
    BrowserBehindProxy,
    Headers,
    Installed,
    new_address,
    read_answer,
)
from tests.support.agent_client import SigningAgent
from tests.support.browser_client import CHROME

FORM = ("Content-Type", "application/x-www-form-urlencoded")
# Form paths without a route of their own, as a site has them.
FORM_PATHS = ("/payment", "/otp", "/transfer", "/register", "/contact", "/order", "/password", "/comment")
PROGRAMS = ("pip/24.0", "rclone/v1.66.0", "WhatsApp/2.23.20.0", "Foo/1.0")
NETWORK = 100
# After so many refusals in a row, a limit has ended the attack.
REFUSED_ENOUGH = 20
WEBHOOK, VISITS = ("Stripe-Signature", "t=1,v1=0"), 10
# A pool of clearances is used for so long at most.
POOL_S = 45.0
FEW_IMAGES, MANY_IMAGES, FILES = 20, 150, 4


class Step(NamedTuple):
    """A request of an attacker. `is_page`: its answer is content that a scraper wants."""

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
        """Send a request; return whether the site behind the proxy answered it."""
        connection = self._connection = self._connection or self._site.connect(self._address)
        self._site.send(connection, step.method, step.target, usual=step.headers, body=step.body)
        told = read_answer(connection, step.method)
        if (told.headers["connection"] or "").lower() == "close":
            self.close()
        return told.status == 200 and told.body.startswith(b'["')

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def scrape(site: Installed, name: str, steps: Steps, *, seconds: float, addresses: int = 1) -> Gain:
    """Send an attacker's requests for so long; return the pages that it gets in a minute."""
    network = next(_networks)
    visitors = [Visitor(site, f"127.{network // 250 + 10}.{network % 250}.{number + 1}") for number in range(addresses)]
    got = asked = refused_in_a_row = 0
    began_s = time.monotonic()
    try:
        # Each address runs the whole pattern.
        for turn in zip(*(steps() for _ in visitors), strict=True):
            if time.monotonic() - began_s > seconds or refused_in_a_row >= REFUSED_ENOUGH * addresses:
                break
            for visitor, step in zip(visitors, turn, strict=True):
                is_served = visitor.is_served(step)
                if step.is_page:
                    asked, got = asked + 1, got + is_served
                    refused_in_a_row = 0 if is_served else refused_in_a_row + 1
    finally:
        for visitor in visitors:
            visitor.close()
    took_s = time.monotonic() - began_s
    return Gain(name, a_minute(got, asked, took_s), "pages a minute", f"{got} of {asked} in {took_s:.1f} s")


_networks = itertools.count(1)


def as_part(destination: str, mode: str) -> Headers:
    """Return a browser's headers for a part of a page."""
    changed = {"Sec-Fetch-Dest": destination, "Sec-Fetch-Mode": mode, "Sec-Fetch-Site": "same-origin"}
    return [(name, changed.get(name, value)) for name, value in BROWSER]


def as_program(name: str) -> Headers:
    """Return the headers of a program that names itself so."""
    return [("Host", "shop.example"), ("User-Agent", name), ("Accept", "*/*"), ("Accept-Language", "en")]


def plain() -> Iterator[Step]:
    """A browser's headers and nothing else: what every claim is compared with."""
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


CLAIMS: dict[str, Steps] = {
    "a browser's headers": plain,
    "?feed=rss2": feeds,
    "robots.txt, then pages as images": images_after_robots,
    "pages as fetches": fetches,
    "a page, then pages as its images": parts,
    "a page and four .js files": files,
    **{f"program {name}": of_program(name) for name in PROGRAMS},
}


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
    return Gain(name, opened, "requests let through", f"of {len(steps)}")


def send_denied(site: Installed) -> Gain:
    """Sign requests as an agent that the policy denies, where a rule for feeds or webhooks would let programs in."""
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
    return Gain("a rule with a misspelled condition", blocked, "visits blocked", f"of {VISITS}")


def collect_tokens(site: Installed, seconds: float) -> Gain:
    """Run the browser check without a browser, from one address."""
    browser, tokens, refused = BrowserBehindProxy(site, new_address()), 0, 0
    began_s = time.monotonic()
    while time.monotonic() - began_s < seconds and not refused:
        challenge = browser.challenge()
        verified = browser.verify(challenge.json()) if challenge.status_code == 200 else challenge
        is_token = verified.status_code == 200 and "token" in verified.json()
        tokens += is_token
        refused += not is_token
    took_s = time.monotonic() - began_s
    detail = f"{tokens} in {took_s:.1f} s, {'then refused' if refused else 'never refused'}"
    return Gain("the browser check solved by a program", tokens / took_s * 3600, "tokens an hour", detail)


def reuse_clearance(site: Installed, seconds: float, user_agent: str) -> Gain:
    """Let a person pass the check, then use the cookie from another program at that address."""
    address = f"127.9.{next(_networks) % 250}.1"
    browser = BrowserBehindProxy(site, address)
    token = browser.verify(browser.challenge().json()).json()["token"]
    sent = json.dumps({"token": token, "return": f"{ORIGIN}/members"}).encode()
    typed = [("Content-Type", "application/json"), ("Origin", ORIGIN)]
    passed = site.visit("POST", "/.agentgate/v1/gateway/pass", headers=typed, body=sent, address=address)
    shown = [*as_program(user_agent), ("Cookie", passed.headers["set-cookie"].partition(";")[0])]
    visitor, got, asked = Visitor(site, address), 0, 0
    began_s = time.monotonic()
    while time.monotonic() - began_s < seconds:
        got += visitor.is_served(Step(f"/p/{asked}", shown))
        asked += 1
    visitor.close()
    took_s = time.monotonic() - began_s
    name = f"a person's clearance, used by {user_agent}"
    return Gain(name, a_minute(got, asked, took_s), "pages a minute", f"{got} of {asked} in {took_s:.1f} s")


def pool_clearances(site: Installed, user_agents: int) -> Gain:
    """Use the clearances that one address gets in an hour without the visible check, under so many User-Agents."""
    address, application = f"127.11.{next(_networks) % 250}.1", site.service.application
    settings = application.settings
    issuer = settings.public_base_url.rstrip("/") or f"http://{settings.public_listen}"
    clearances = Clearances(application.keyring, settings.clearance_seconds, issuer=issuer)
    pool = []
    for number in range(2 * TOKENS_PER_HOUR):
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
    while refused_in_a_row < REFUSED_ENOUGH and time.monotonic() - began_s < POOL_S:
        is_served = visitor.is_served(Step(f"/p/{asked}", pool[asked % len(pool)]))
        got, asked, refused_in_a_row = got + is_served, asked + 1, 0 if is_served else refused_in_a_row + 1
    visitor.close()
    name = f"{len(pool)} clearances of one address, {user_agents} User-Agents"
    took_s = time.monotonic() - began_s
    return Gain(name, a_minute(got, asked, took_s), "pages a minute", f"{got} of {asked} in {took_s:.1f} s")


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
        Gain("wholeSite: suggestions that a network creates", len(listed), "suggestions", of),
        Gain(
            "wholeSite: requests after accepting all",
            opened,
            "requests let through",
            f"of {len(visitors) * len(steps)}",
        ),
    ]


def attack_pages(site: Installed, seconds: float) -> list[Gain]:
    """Run all of these: on a site with the default rules, then with `wholeSite`."""
    gains = [scrape(site, name, steps, seconds=seconds) for name, steps in CLAIMS.items()]
    gains.append(
        scrape(site, f"a page and four .js files, {NETWORK} addresses", files, seconds=seconds, addresses=NETWORK)
    )
    gains += [reuse_clearance(site, seconds, name) for name in ("sqlmap/1.8", "python-requests/2.32.0")]
    gains += [pool_clearances(site, user_agents) for user_agents in (1, 120)]
    gains += [collect_tokens(site, seconds), override_methods(site), open_login(site)]
    gains += [send_denied(site), misspell_rules(site)]
    site.change(wholeSite=True)
    site.service.run(site.service.application.refresher.refresh())
    whole = [scrape(site, f"wholeSite: {name}", steps, seconds=seconds) for name, steps in CLAIMS.items()]
    return [*gains, *whole, send_signed_forms(site), *fill_suggestions(site)]
