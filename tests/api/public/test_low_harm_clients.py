"""What real clients get on a fresh site in enforce mode, with the rules that every site starts with.

Each request is one that the named program sends, from an address of the kind it comes from.
"""

import time
from collections.abc import Iterator

import httpx
import pytest

from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.settings.schema import read_settings
from tests.support.browser_client import create_site
from tests.support.dns_server import DnsServer, dns_server
from tests.support.service import ADMIN_KEY, RunningService, running_service

HOME, CLOUD, RESEARCH = "81.2.69.160", "3.80.1.1", "192.203.230.10"
GOOGLE = "66.249.66.1"
BING = "157.55.39.1"
APPLE = "17.241.75.1"

CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
)
HEADLESS = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/142.0.0.0 Safari/537.36"
)
GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
GOOGLEBOT_PHONE = (
    "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/142.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
)
BINGBOT = (
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; "
    "+http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36"
)
APPLEBOT = (
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 "
    "Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)"
)
PAGE = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Accept-Encoding": "gzip, deflate"}
ANY = {"Accept": "*/*"}
BROWSER = {
    "sec-ch-ua": '"Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"',
    "sec-ch-ua-mobile": "?0",
    "sec-ch-ua-platform": '"Windows"',
    "Upgrade-Insecure-Requests": "1",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Sec-Fetch-Site": "none",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-User": "?1",
    "Sec-Fetch-Dest": "document",
    "Accept-Encoding": "gzip, deflate, br, zstd",
    "Accept-Language": "en-GB,en;q=0.9",
}
WINDOWLESS = BROWSER | {
    "sec-ch-ua": '"Chromium";v="142", "HeadlessChrome";v="142", "Not_A Brand";v="99"',
    "sec-ch-ua-platform": '"Linux"',
}
FEED = {"Accept": "application/rss+xml, application/atom+xml, text/xml;q=0.9, */*;q=0.5", "Accept-Encoding": "gzip"}
GIT = {"Accept": "*/*", "Accept-Encoding": "deflate, gzip, br, zstd", "Pragma": "no-cache", "Git-Protocol": "version=2"}

CHALLENGED, BLOCKED = (401, "policy"), (403, "policy")
AGENT_CHALLENGED, AGENT_BLOCKED = (401, "agent_unverified"), (403, "agent_unverified")
PASSES = (204, "allowed")

CLIENTS = [
    # People.
    ("Chrome at home", HOME, "/", CHROME, BROWSER, PASSES),
    (
        "Firefox",
        HOME,
        "/",
        "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
        {
            "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "Accept-Language": "en-US,en;q=0.5",
            "Accept-Encoding": "gzip, deflate, br, zstd",
            "Upgrade-Insecure-Requests": "1",
            "Sec-Fetch-Dest": "document",
            "Sec-Fetch-Mode": "navigate",
            "Sec-Fetch-Site": "none",
            "Sec-Fetch-User": "?1",
        },
        PASSES,
    ),
    # Feeds and podcasts.
    (
        "Feedly",
        CLOUD,
        "/feed.xml",
        "Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)",
        FEED,
        PASSES,
    ),
    ("NetNewsWire", HOME, "/feed.xml", "NetNewsWire (RSS Reader; https://netnewswire.com/)", FEED, PASSES),
    ("Miniflux", CLOUD, "/feed.xml", "Mozilla/5.0 (compatible; Miniflux/2.2.3; +https://miniflux.app)", FEED, PASSES),
    ("FreshRSS", CLOUD, "/feed.xml", "FreshRSS/1.24.3 (Linux; https://freshrss.org)", FEED, PASSES),
    ("Inoreader", CLOUD, "/feed.xml", "Mozilla/5.0 (compatible; inoreader.com; 5 subscribers)", FEED, PASSES),
    ("Overcast", CLOUD, "/podcast.xml", "Overcast/3.0 (+http://overcast.fm/; iOS podcast app)", FEED, PASSES),
    # git.
    ("git clone", HOME, "/project.git/info/refs?service=git-upload-pack", "git/2.39.5", GIT, PASSES),
    ("git of a build", CLOUD, "/project.git/info/refs?service=git-upload-pack", "git/2.47.1.windows.1", GIT, PASSES),
    ("JGit", CLOUD, "/project.git/info/refs?service=git-upload-pack", "JGit/6.10.0.202406032230-r", GIT, PASSES),
    ("go get through git", CLOUD, "/project.git/info/refs?service=git-upload-pack", "git/2.43.0", GIT, PASSES),
    # Previews of shared links.
    ("Slack", CLOUD, "/article", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", ANY, PASSES),
    ("WhatsApp", HOME, "/article", "WhatsApp/2.23.20.0 A", ANY, PASSES),
    ("Telegram", CLOUD, "/article", "TelegramBot (like TwitterBot)", PAGE, PASSES),
    (
        "Facebook",
        CLOUD,
        "/article",
        "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        ANY,
        PASSES,
    ),
    ("X", CLOUD, "/article", "Twitterbot/1.0", ANY, PASSES),
    ("Discord", CLOUD, "/article", "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)", ANY, PASSES),
    (
        "LinkedIn",
        CLOUD,
        "/article",
        "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
        ANY,
        PASSES,
    ),
    ("Mastodon", CLOUD, "/article", "Mastodon/4.3.1 (http.rb/5.2.0; +https://mastodon.social/)", PAGE, PASSES),
    # Uptime checks.
    ("UptimeRobot", CLOUD, "/", "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)", ANY, PASSES),
    ("Pingdom", CLOUD, "/", "Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)", ANY, PASSES),
    (
        "StatusCake",
        CLOUD,
        "/",
        f"{CHROME} (StatusCake)",
        ANY,
        # A name in a browser's User-Agent proves nothing, and these are no browser's headers.
        (401, "policy"),
    ),
    ("Uptime Kuma", CLOUD, "/", "Uptime-Kuma/1.23.16", ANY, PASSES),
    # Crawlers of search engines, from their own addresses and from elsewhere.
    ("Googlebot", GOOGLE, "/article", GOOGLEBOT, PAGE, PASSES),
    ("Googlebot as a phone", GOOGLE, "/article", GOOGLEBOT_PHONE, PAGE, PASSES),
    ("bingbot", BING, "/article", BINGBOT, PAGE, PASSES),
    ("Applebot", APPLE, "/article", APPLEBOT, PAGE, PASSES),
    ("not Googlebot", CLOUD, "/article", GOOGLEBOT, PAGE, AGENT_BLOCKED),
    ("not Applebot, at home", HOME, "/article", APPLEBOT, PAGE, AGENT_BLOCKED),
    # Agents, programs and browsers under control.
    (
        "GPTBot",
        CLOUD,
        "/article",
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
        PAGE,
        AGENT_CHALLENGED,
    ),
    (
        "ClaudeBot",
        CLOUD,
        "/article",
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)",
        PAGE,
        AGENT_CHALLENGED,
    ),
    ("curl", HOME, "/", "curl/8.10.1", ANY, CHALLENGED),
    ("Python", CLOUD, "/", "python-requests/2.32.3", {"Accept": "*/*", "Accept-Encoding": "gzip, deflate"}, CHALLENGED),
    ("nobody", HOME, "/", None, {}, CHALLENGED),
    ("Chrome without a window", HOME, "/", HEADLESS, WINDOWLESS, BLOCKED),
    ("a scanner", CLOUD, "/", "sqlmap/1.8.11#stable (https://sqlmap.org)", ANY, BLOCKED),
    ("Chrome in a data center", CLOUD, "/", CHROME, BROWSER, CHALLENGED),
]


class Site:
    """A fresh site in enforce mode, and the proxy before it."""

    def __init__(self, service: RunningService) -> None:
        self.service = service
        site_key = create_site(
            service,
            mode="enforce",
            actions={"login": {"browserRequired": True, "clearance": True}},
            routes=[{"method": "POST", "path": "/login", "action": "login"}],
        )
        made = service.operator.post(f"/v1/admin/sites/{site_key}/credentials", json={"name": "gate"})
        self._secret = made.json()["secret"]

    def ask(self, address: str, target: str, user_agent: str | None, *, method: str = "GET", **headers: str):
        """Ask about a request."""
        sent = {
            "Authorization": f"Bearer {self._secret}",
            "X-Original-Method": method,
            "X-Original-URL": f"https://shop.example{target}",
            "X-Original-Address": address,
            # Chromium writes its hints, and its wish for secure pages, before its name.
            **{name: value for name, value in headers.items() if name.startswith("sec-ch-")},
            **({"Upgrade-Insecure-Requests": "1"} if "sec-ch-ua" in headers else {}),
            **({} if user_agent is None else {"User-Agent": user_agent}),
            **headers,
        }
        # Only what is given: the library's own headers would describe another client.
        request = httpx.Request("GET", f"{self.service.public_url}/v1/gateway/check", headers=sent)
        return self.service.public.send(request)

    def said(self, *request: str, **options: str) -> tuple[int, str]:
        """Return status and reason."""
        reply = self.ask(*request, **options)
        return reply.status_code, reply.headers["x-service-reason"]


@pytest.fixture(scope="module")
def names() -> Iterator[DnsServer]:
    with dns_server() as server:
        server.point(GOOGLE, "crawl-66-249-66-1.googlebot.com")
        server.point(BING, "msnbot-157-55-39-1.search.msn.com")
        server.point(APPLE, "17-241-75-1.applebot.apple.com")
        server.point(CLOUD, "ec2-3-80-1-1.compute-1.amazonaws.com")
        yield server


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, names: DnsServer) -> Iterator[Site]:
    settings = read_settings(
        {
            "AGENTGATE_DATA_DIR": str(tmp_path_factory.mktemp("fresh") / "data"),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
            "AGENTGATE_DNS_SERVERS": f"127.0.0.1:{names.port}",
        }
    )
    with running_service(settings) as service:
        yield Site(service)


def settled(site: Site, wanted: tuple[int, str], *request: str, **headers: str) -> tuple[int, str]:
    """Repeat a request until its result is the wanted one: the first may arrive before DNS has responded."""
    until_s = time.monotonic() + 20
    said = site.said(*request, **headers)
    while said != wanted and time.monotonic() < until_s:
        time.sleep(0.05)
        # Frequent requests cost nothing here, and a lost DNS query is sent again.
        site.service.clock.advance(ms=MINUTE_MS)
        said = site.said(*request, **headers)
    return said


@pytest.mark.parametrize(("client", "wanted"), [pytest.param(each[1:5], each[5], id=each[0]) for each in CLIENTS])
def test_a_client_gets_what_it_should(site: Site, client, wanted) -> None:
    address, target, user_agent, headers = client
    if wanted == AGENT_BLOCKED:
        assert settled(site, wanted, address, target, user_agent, **headers) == wanted
    else:
        assert site.said(address, target, user_agent, **headers) == wanted


def test_the_first_request_of_a_crawler_passes_before_dns_has_handled(site: Site, names: DnsServer) -> None:
    names.delay_s = 0.3
    try:
        assert site.said("192.178.5.77", "/article", GOOGLEBOT, **PAGE) == PASSES
    finally:
        names.delay_s = 0.0
    assert settled(site, AGENT_BLOCKED, "192.178.5.77", "/article", GOOGLEBOT, **PAGE) == AGENT_BLOCKED


def test_a_confirmed_crawler_may_come_more_often_than_an_unconfirmed_one(site: Site, names: DnsServer) -> None:
    names.point("192.178.5.5", "crawl-192-178-5-5.googlebot.com")
    site.ask("192.178.5.5", "/article", GOOGLEBOT, **PAGE)
    until_s = time.monotonic() + 20
    while names.asked.count("crawl-192-178-5-5.googlebot.com") < 1 and time.monotonic() < until_s:
        time.sleep(0.01)
    # Wait for the last DNS response.
    time.sleep(0.1)

    assert {site.said("192.178.5.5", f"/article/{number}", GOOGLEBOT, **PAGE) for number in range(100)} == {PASSES}


def test_a_route_that_needs_the_browser_check_is_closed_to_all_of_them(site: Site) -> None:
    for _, address, _, user_agent, headers, wanted in CLIENTS:
        if wanted == PASSES:
            said = site.said(address, "/login", user_agent, method="POST", **headers)
            assert said == (401, "receipt_required"), user_agent


def test_a_feed_reader_that_comes_too_often_is_stopped(site: Site) -> None:
    reader = ("203.0.113.77", "/feed.xml", "FreshRSS/1.24.3 (Linux; https://freshrss.org)")
    said = [site.said(*reader, **FEED) for _ in range(181)]

    assert set(said[:179]) == {PASSES}
    assert said[-1] == CHALLENGED
