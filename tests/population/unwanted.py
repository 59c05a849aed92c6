"""Traffic that sites do not want: scrapers in libraries and in browsers' clothes, floods, guesses, scanners, AI crawlers."""

# ruff: noqa: E501 - User-Agents are as long as they are

from collections.abc import Iterator
from itertools import islice
from random import Random

from tests.population.addresses import choose_address
from tests.population.browsers import choose_browser
from tests.population.headers import Headers, Load, headers_of
from tests.population.sent import Sent, Should
from tests.population.visitors import ORIGIN

_HOST = ORIGIN.partition("://")[2]
# The default headers of each library's newest release, in the order in which it writes them.
LIBRARIES: dict[str, Headers] = {
    "requests": [
        ("User-Agent", "python-requests/2.32.3"),
        ("Accept-Encoding", "gzip, deflate"),
        ("Accept", "*/*"),
        ("Connection", "keep-alive"),
    ],
    "httpx": [
        ("Accept", "*/*"),
        ("Accept-Encoding", "gzip, deflate"),
        ("Connection", "keep-alive"),
        ("User-Agent", "python-httpx/0.27.0"),
    ],
    "aiohttp": [("Accept", "*/*"), ("Accept-Encoding", "gzip, deflate"), ("User-Agent", "Python/3.12 aiohttp/3.9.5")],
    "urllib": [("Accept-Encoding", "identity"), ("User-Agent", "Python-urllib/3.12"), ("Connection", "close")],
    "Scrapy": [
        ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
        ("Accept-Language", "en"),
        ("User-Agent", "Scrapy/2.11.2 (+https://scrapy.org)"),
        ("Accept-Encoding", "gzip, deflate, br"),
    ],
    "curl": [("User-Agent", "curl/8.9.1"), ("Accept", "*/*")],
    "Wget": [("User-Agent", "Wget/1.24.5"), ("Accept", "*/*"), ("Accept-Encoding", "identity")],
    "Go": [("User-Agent", "Go-http-client/1.1"), ("Accept-Encoding", "gzip")],
    "axios": [
        ("Accept", "application/json, text/plain, */*"),
        ("User-Agent", "axios/1.7.2"),
        ("Accept-Encoding", "gzip, compress, deflate, br"),
    ],
    "node fetch": [
        ("accept", "*/*"),
        ("accept-language", "*"),
        ("sec-fetch-mode", "cors"),
        ("user-agent", "node"),
        ("accept-encoding", "gzip, deflate"),
    ],
    "okhttp": [("User-Agent", "okhttp/4.12.0"), ("Accept-Encoding", "gzip")],
    "Java": [("User-Agent", "Java-http-client/21.0.3")],
    "Guzzle": [("User-Agent", "GuzzleHttp/7")],
    "libwww-perl": [("TE", "deflate,gzip;q=0.3"), ("User-Agent", "libwww-perl/6.77")],
}
_AI_AGENTS = (
    *(
        "GPTBot/1.2; +https://openai.com/gptbot",
        "ClaudeBot/1.0; +claudebot@anthropic.com",
        "CCBot/2.0 (https://commoncrawl.org/faq/)",
    ),
    *(
        "Bytespider; spider-feedback@bytedance.com",
        "PerplexityBot/1.0; +https://perplexity.ai/perplexitybot",
        "Amazonbot/0.1; +https://developer.amazon.com/support/amazonbot",
    ),
    *("meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)", "Diffbot/0.1"),
)
_SCANNERS = (
    *(
        "Mozilla/5.00 (Nikto/2.5.0) (Evasions:None) (Test:000001)",
        "sqlmap/1.8.6#stable (https://sqlmap.org)",
        "Nuclei - Open-source project (github.com/projectdiscovery/nuclei)",
    ),
    *(
        "WPScan v3.8.27 (https://wpscan.com/wordpress-security-scanner)",
        "masscan/1.3 (https://github.com/robertdavidgraham/masscan)",
        "zgrab/0.x",
        "gobuster/3.6",
    ),
)
_PROBES = ("/wp-login.php", "/.env", "/.git/config", "/phpmyadmin/", "/admin/", "/backup.zip", "/cgi-bin/test.cgi")
_CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0 Safari/537.36"
)


def unwanted_requests(seed: int, size: int = 400) -> Iterator[Iterator[Sent]]:
    """Yield it by kind, about `size` requests or a few times as many."""
    for make in (
        _libraries,
        _fast_in_disguise,
        _rotating,
        _stuffing,
        _scanning,
        _ai_agents,
        _lying_ai_agents,
        _forged_search,
        _headless,
        _lying_about_parts,
        _lying_now_and_then,
    ):
        yield make(Random(f"{seed}:{make.__name__}"), size)


def _sent(kind: str, name: str, headers: Headers, address: str, path: str, at_ms: int) -> Sent:  # noqa: PLR0917
    return Sent(kind, name, "GET", ORIGIN + path, [("Host", _HOST), *headers], address, Should.STOP, at_ms)


def _libraries(chance: Random, size: int) -> Iterator[Sent]:
    for name, headers in LIBRARIES.items():
        fast = chance.random() < 0.5
        address = choose_address(chance)
        for number in range(size // len(LIBRARIES)):
            kind = "scraper: library, fast" if fast else "scraper: library, slow"
            yield _sent(kind, name, headers, address, f"/products/{number}", number * (50 if fast else 6_000))


def _browser_headers(chance: Random, destination: str = "document") -> Headers:
    browser = choose_browser(chance)
    return headers_of(browser, Load(_HOST, destination, "none" if destination == "document" else "same-origin"))[1:]


def _fast_in_disguise(chance: Random, size: int) -> Iterator[Sent]:
    """Yield exact browser headers, as of curl-impersonate, from one address as fast as the site responds."""
    address, headers = choose_address(chance), _browser_headers(chance)
    for number in range(size * 10):
        yield _sent(
            "scraper: browser's headers, fast", "impersonating", headers, address, f"/products/{number}", number * 40
        )


def _rotating(chance: Random, size: int) -> Iterator[Sent]:
    """A library with a browser's name, each request from another address."""
    for number in range(size):
        agent = _CHROME.format(chance.randrange(110, 146))
        headers = [
            ("User-Agent", agent),
            ("Accept-Encoding", "gzip, deflate"),
            ("Accept", "*/*"),
            ("Connection", "keep-alive"),
        ]
        yield _sent(
            "scraper: rotating addresses",
            "requests as Chrome",
            headers,
            choose_address(chance),
            f"/products/{number}",
            number * 200,
        )


def _stuffing(chance: Random, size: int) -> Iterator[Sent]:
    addresses = [choose_address(chance) for _ in range(5)]
    for number in range(size):
        headers = [
            *LIBRARIES[chance.choice(("requests", "Go", "axios"))],
            ("Content-Type", "application/json"),
            ("Content-Length", "58"),
        ]
        if number % 3 == 0:
            headers.append(("Stripe-Signature", "t=1,v1=0"))
        yield _sent(
            "credential stuffing", "library", headers, chance.choice(addresses), "/login", number * 300
        )._replace(method="POST")


def _scanning(chance: Random, size: int) -> Iterator[Sent]:
    address = choose_address(chance)
    for number in range(size):
        headers = [("User-Agent", chance.choice(_SCANNERS)), ("Accept", "*/*")]
        yield _sent("scanner", "scanner", headers, address, chance.choice(_PROBES), number * 500)


def _ai_agents(chance: Random, size: int) -> Iterator[Sent]:
    for number in range(size):
        agent = chance.choice(_AI_AGENTS)
        headers = [
            ("User-Agent", f"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; {agent})"),
            ("Accept", "*/*"),
        ]
        yield _sent(
            "AI crawler, honest",
            agent.partition("/")[0],
            headers,
            f"20.171.{chance.randrange(200)}.7",
            f"/stories/{number}",
            number * 900,
        )


def _lying_ai_agents(chance: Random, size: int) -> Iterator[Sent]:
    """A browser's name from a cloud's network."""
    for number in range(size):
        headers = _browser_headers(chance)
        yield _sent(
            "AI crawler, lying",
            "browser in a cloud",
            headers,
            f"3.235.{chance.randrange(200)}.9",
            f"/stories/{number}",
            number * 900,
        )


def _forged_search(chance: Random, size: int) -> Iterator[Sent]:
    agent = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
    addresses = [choose_address(chance) for _ in range(8)]
    for number in range(size):
        headers = [
            ("User-Agent", agent),
            ("Accept", "text/html,application/xhtml+xml"),
            ("Accept-Encoding", "gzip, deflate, br"),
        ]
        yield _sent(
            "forged search crawler", "Googlebot", headers, chance.choice(addresses), f"/products/{number}", number * 700
        )


def _headless(chance: Random, size: int) -> Iterator[Sent]:
    address = choose_address(chance)
    for number in range(size):
        major = chance.randrange(120, 146)
        headers = [
            ("sec-ch-ua", f'"Chromium";v="{major}", "HeadlessChrome";v="{major}", "Not?A_Brand";v="99"'),
            ("User-Agent", _CHROME.format(major).replace("Chrome/", "HeadlessChrome/")),
            ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
            ("Accept-Encoding", "gzip, deflate, br"),
        ]
        yield _sent("headless browser", "Headless Chrome", headers, address, f"/products/{number}", number * 900)


def _lying_about_parts(chance: Random, size: int) -> Iterator[Sent]:
    """Pages fetched as if they were pictures, from a few addresses."""
    addresses, headers = [choose_address(chance) for _ in range(3)], _browser_headers(chance, "image")
    for number in range(size * 3):
        yield _sent(
            "scraper: lies about Sec-Fetch-Dest",
            "as pictures",
            headers,
            addresses[number % 3],
            f"/products/{number}",
            number * 60,
        )


def _lying_now_and_then(chance: Random, size: int) -> Iterator[Sent]:
    """Yield pages fetched as if they were images, but with an Accept header for HTML."""
    for address in islice(iter(lambda: choose_address(chance), None), 4):
        headers = [
            (name, {"sec-fetch-dest": "image", "sec-fetch-mode": "no-cors"}.get(name.lower(), value))
            for name, value in _browser_headers(chance)
        ]
        for number in range(size):
            yield _sent(
                "scraper: lies about Sec-Fetch-Dest",
                "accepts HTML",
                headers,
                address,
                f"/products/{number}",
                number * 60,
            )
