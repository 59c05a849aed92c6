"""Crawlers of search engines and archives, from addresses whose names are the operator's, as each publishes it."""

# ruff: noqa: E501 - User-Agents are as long as they are

from collections.abc import Iterator
from random import Random

from tests.population.sent import Sent, Should
from tests.population.visitors import ORIGIN

_PHONE = "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko)"
# Name, User-Agent, address, and the name that the address has in DNS.
CRAWLERS = (
    (
        "Googlebot",
        f"{_PHONE} Chrome/141.0.7390.122 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "66.249.66.4",
        "crawl-66-249-66-4.googlebot.com",
    ),
    ("Googlebot-Image", "Googlebot-Image/1.0", "66.249.66.5", "crawl-66-249-66-5.googlebot.com"),
    (
        "Bingbot",
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36",
        "157.55.39.12",
        "msnbot-157-55-39-12.search.msn.com",
    ),
    (
        "Applebot",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)",
        "17.241.208.161",
        "17-241-208-161.applebot.apple.com",
    ),
    (
        "YandexBot",
        "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
        "5.255.253.100",
        "5-255-253-100.spider.yandex.com",
    ),
    (
        "SeznamBot",
        "Mozilla/5.0 (compatible; SeznamBot/4.0; +http://napoveda.seznam.cz/seznambot-intro/)",
        "77.75.76.160",
        "fulltextrobot-77-75-76-160.seznam.cz",
    ),
    (
        "Qwantbot",
        "Mozilla/5.0 (compatible; Qwantbot/1.0; +https://help.qwant.com/bot/)",
        "194.187.171.20",
        "qwantbot-171-20.qwant.com",
    ),
    (
        "Internet Archive",
        "Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)",
        "207.241.229.50",
        "crawl100.us.archive.org",
    ),
)
CRAWLER_NAMES = {address: name for _, _, address, name in CRAWLERS}


def crawler_requests(seed: int, times: int = 40) -> Iterator[Sent]:
    """Yield what each crawler asks for: robots.txt, then pages and their pictures."""
    chance, host = Random(f"{seed}:crawlers"), ORIGIN.partition("://")[2]
    for name, agent, address, _ in CRAWLERS:
        headers = [
            ("Host", host),
            ("Connection", "keep-alive"),
            ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
        ]
        headers += [("User-Agent", agent), ("Accept-Encoding", "gzip, deflate, br")]
        for number in range(times):
            path = (
                "/robots.txt"
                if number == 0
                else chance.choice(("/products/{}", "/stories/{}", "/img/{}.webp")).format(number)
            )
            yield Sent(
                "search crawlers, archives", name, "GET", ORIGIN + path, headers, address, Should.PASS, number * 1_500
            )
