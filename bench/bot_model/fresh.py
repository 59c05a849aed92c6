"""`python -m bench.bot_model.fresh`: judge the shipped bot model on traffic that nothing was adjusted to.

The kinds of bots and the seed were written down before the first measurement, and the rows of training were never
compared with them. A kind that is changed after its results are known belongs into the population instead.
"""

import argparse
from collections.abc import Iterator
from random import Random

from agentgate.decision.scoring.model_file import ModelFile
from agentgate.lib.records import json_decoder
from bench.bot_model.card import CARD, SHIPPED, fresh_part, with_fresh_part
from bench.bot_model.judge import judge
from bench.bot_model.rows import decided, people_of
from tests.population.addresses import choose_address
from tests.population.headers import Headers
from tests.population.sent import Sent, Should
from tests.population.unwanted import unwanted_requests
from tests.population.visitors import ORIGIN

SEED = 907
# A browser's headers with something wrong, as guides and libraries for scrapers have them.
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0 Safari/537.36"
)
EDGE = CHROME + " Edg/{}.0.0.0"
PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.5 Mobile/15E148 Safari/604.1"
)
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:{0}.0) Gecko/20100101 Firefox/{0}.0"
PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
HINTS = '"Chromium";v="{0}", "Google Chrome";v="{0}", "Not_A Brand";v="24"'
FETCH = [("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Site", "none")]
KINDS: dict[str, Headers] = {
    "guide: requests with six headers": [
        ("User-Agent", CHROME),
        ("Accept-Encoding", "gzip, deflate, br"),
        ("Accept", PAGE),
        ("Connection", "keep-alive"),
        ("Accept-Language", "en-US,en;q=0.5"),
        ("Upgrade-Insecure-Requests", "1"),
    ],
    "guide: referrer of a search engine": [
        ("User-Agent", CHROME),
        ("Accept", PAGE),
        ("Referer", "https://www.google.com/"),
        ("Accept-Language", "en-US,en;q=0.9"),
    ],
    "list of names, nothing else": [("User-Agent", FIREFOX), ("Accept", "*/*"), ("Accept-Encoding", "gzip, deflate")],
    "Go with a browser's name": [("User-Agent", FIREFOX), ("Accept-Encoding", "gzip"), ("Accept", PAGE)],
    "PHP as a phone": [("User-Agent", PHONE), ("Accept", "*/*"), ("Accept-Encoding", "deflate, gzip, br")],
    "Node with fetch metadata of a script": [
        ("user-agent", CHROME),
        ("accept", PAGE),
        ("accept-language", "en-US"),
        ("sec-fetch-mode", "cors"),
        ("accept-encoding", "br, gzip, deflate"),
    ],
    "profile with older hints": [
        ("sec-ch-ua", HINTS.format(110)),
        ("sec-ch-ua-mobile", "?0"),
        ("sec-ch-ua-platform", '"Windows"'),
        ("Upgrade-Insecure-Requests", "1"),
        ("User-Agent", CHROME),
        ("Accept", PAGE),
        *FETCH,
        ("Accept-Encoding", "gzip, deflate, br"),
        ("Accept-Language", "en-US,en;q=0.9"),
    ],
    "Edge with the brands of Chrome": [
        ("sec-ch-ua", HINTS),
        ("sec-ch-ua-mobile", "?0"),
        ("sec-ch-ua-platform", '"Windows"'),
        ("Upgrade-Insecure-Requests", "1"),
        ("User-Agent", EDGE),
        ("Accept", PAGE),
        *FETCH,
        ("Accept-Encoding", "gzip, deflate, br, zstd"),
        ("Accept-Language", "en-US,en;q=0.9"),
    ],
    "phone with hints of a desktop": [
        ("sec-ch-ua", HINTS),
        ("sec-ch-ua-mobile", "?0"),
        ("sec-ch-ua-platform", '"Windows"'),
        ("User-Agent", PHONE),
        ("Accept", PAGE),
        *FETCH,
        ("Accept-Encoding", "gzip, deflate, br"),
        ("Accept-Language", "de-DE"),
    ],
    "Scrapy with a browser's name": [
        ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
        ("Accept-Language", "en"),
        ("User-Agent", CHROME),
        ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ],
}
EVERY_MS = 7_000


def bot_requests(seed: int, size: int) -> Iterator[Iterator[Sent]]:
    """Yield `size` slow requests of each kind, each from another home."""
    for kind, headers in KINDS.items():
        yield _requests(kind, headers, Random(f"{seed}:{kind}"), size)


def _requests(kind: str, headers: Headers, chance: Random, size: int) -> Iterator[Sent]:
    for number in range(size):
        major = chance.randrange(128, 146)
        filled = [(name, value.format(major, major)) for name, value in headers]
        sent = [("Host", ORIGIN.partition("://")[2]), *filled]
        address, path = choose_address(chance), f"{ORIGIN}/articles/{number}"
        yield Sent(f"fresh: {kind}", kind, "GET", path, sent, address, Should.STOP, number * EVERY_MS)


def judged_part(model: ModelFile, views: int = 1_000, size: int = 60) -> str:
    """Return the section of the card, from the gateway's decisions about people of the seed and about the bots."""
    bots = [("fresh", list(kind)) for kind in bot_requests(SEED, size)]
    known = [("unwanted", list(kind)) for kind in unwanted_requests(SEED, size)]
    rows = decided([*people_of(SEED, views), *bots, *known])
    found = judge(model, [row for row in rows if row.source != "unwanted"], [])
    return fresh_part(found, [row for row in rows if row.source != "fresh"], model, len(KINDS))


def main() -> None:
    """Judge the model in the package, and write the section of its card."""
    parser = argparse.ArgumentParser(prog="python -m bench.bot_model.fresh", description=__doc__)
    parser.add_argument("--views", type=int, default=1_000, help="page views of people (1000)")
    parser.add_argument("--size", type=int, default=60, help="requests of each kind of bot (60)")
    parser.add_argument("--dry", action="store_true", help="write nothing")
    options = parser.parse_args()
    model = json_decoder(ModelFile).decode(SHIPPED.read_bytes())
    part = judged_part(model, options.views, options.size)
    print(part)
    if not options.dry:
        CARD.write_text(with_fresh_part(CARD.read_text("utf-8"), part))


if __name__ == "__main__":
    main()
