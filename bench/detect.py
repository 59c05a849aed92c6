"""How long one look at a request takes: a known browser, a new address, a new User-Agent, a program, a hostile one.

Run as a file: `python bench/detect.py`. Figures are microseconds of processor time, the best of several rounds.
"""

import sys
import time
from pathlib import Path

# Run as a file, this folder is on the path and its parent is not.
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from agentgate.protection.signals.facts import RequestFacts
from agentgate.protection.signals.observe import observe
from agentgate.protection.threat_data.intel import Intel, load_intel

ROUNDS, REQUESTS = 9, 2_000
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
)
BROWSER_HEADERS = (
    ("host", "www.example.com"),
    ("connection", "keep-alive"),
    ("sec-ch-ua", '"Google Chrome";v="141", "Not?A_Brand";v="8", "Chromium";v="141"'),
    ("sec-ch-ua-mobile", "?0"),
    ("sec-ch-ua-platform", '"Windows"'),
    ("upgrade-insecure-requests", "1"),
    ("user-agent", CHROME),
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"),
    ("sec-fetch-site", "same-origin"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-user", "?1"),
    ("sec-fetch-dest", "document"),
    ("referer", "https://www.example.com/"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("accept-language", "en-GB,en;q=0.9,de;q=0.8"),
    ("cookie", "session=6f1d2c3b4a59; theme=dark"),
)


def request(number: int, headers: tuple[tuple[str, str], ...] = BROWSER_HEADERS) -> RequestFacts:
    """Return a request from the address with this number."""
    address = f"81.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    return RequestFacts(now_ms=0, method="GET", target="/shop/item?id=1", address=address, headers=headers)


def with_user_agent(text: str) -> tuple[tuple[str, str], ...]:
    """Return the browser's headers with another User-Agent."""
    return tuple((name, text if name == "user-agent" else value) for name, value in BROWSER_HEADERS)


def measure(intel: Intel, make_request) -> float:
    """Return the microseconds of one look in the best round; every request of every round is a new one."""
    best_s = float("inf")
    for round_number in range(ROUNDS):
        requests = [make_request(round_number * REQUESTS + number) for number in range(REQUESTS)]
        start_s = time.process_time()
        for facts in requests:
            observe(facts, intel)
        best_s = min(best_s, time.process_time() - start_s)
    return best_s / REQUESTS * 1e6


def main() -> None:
    """Measure each kind of request and print a line about it."""
    intel = load_intel(None)
    kinds = {
        "known browser, known address": lambda _number: request(1),
        "known browser, new address": request,
        "new User-Agent, new address": lambda number: request(number, with_user_agent(f"{CHROME} App/{number}")),
        "program": lambda number: request(
            number, (("host", "a.example"), ("user-agent", "curl/8.5.0"), ("accept", "*/*"))
        ),
        "16 KB User-Agent": lambda number: request(number, with_user_agent(f"{number} bot " + "x" * 16_000)),
    }
    for name, make_request in kinds.items():
        print(f"{name:<30} {measure(intel, make_request):6.2f} us")


if __name__ == "__main__":
    main()
