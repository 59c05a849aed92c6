"""What tokens cost attackers who have read the source: `make attack-prices`.

Sessions of the lab's drivers give CPU time and bytes per token; a farm is a stock Chromium whose page calls the SDK in
a loop. The budgets of an hour are counted by the service's own counters at one moment.
"""

import argparse
import asyncio
import ctypes
import os
import random
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgate.browser_check.budgets import TokenBudgets
from agentgate.browser_check.clusters import Clusters
from agentgate.http.request import Request
from agentgate.lib.clock import SystemClock
from agentgate.storage.shared_cache.memory import MemorySharedCache
from bench.adversaries import packages
from bench.adversaries.__main__ import make_plans, told
from bench.adversaries.drivers.screen import virtual_screen
from bench.adversaries.drivers.stock import Setup, end, start
from bench.adversaries.front import Visit
from bench.adversaries.runner import Plan, Runner
from bench.adversaries.site import Laboratory, laboratory

# Name, and driver and variant in the lab.
ATTACKERS = (
    ("HTTP client", "httpx", "httpx headers signals"),
    ("forged protocol, no browser", "solver of formulas", "solver seen"),
    ("headless browser", "playwright", "playwright new"),
    ("stealth plug-in, windowed", "puppeteer stealth", "stealth windowed"),
    ("careful debugger, windowed", "direct CDP", "windowed hand"),
    ("events of the X server", "X11 robot curved", "chromium curved"),
)
PERSON = ("chromium", "chromium curved")
HOUR_S = 3600
TRIES = 5_000
# Processes that a driver leaves become children of this one, so that their CPU time is counted when they end.
PR_SET_CHILD_SUBREAPER = 36
LEFT_S = 10.0
AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36"
POOL = tuple(f"198.18.{number % 10}.{number // 10 + 1}" for number in range(250))


@dataclass(frozen=True)
class Spent:
    """Cost and tokens of an attacker."""

    tries: int
    tokens: int
    cpu_s: float
    sent: int


@dataclass
class Pooled(Visit):
    """A visitor who has another address for each check."""

    @property
    def sender(self) -> str:
        """The address of the pool for this check."""
        return POOL[len(self.verified) % len(POOL)]


def used_s() -> float:
    """Return the CPU time of all drivers so far, with the processes that they left, which have some seconds to end."""
    deadline_s = time.monotonic() + LEFT_S
    while time.monotonic() < deadline_s:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.05)
        except ChildProcessError:
            break
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def budget(addresses: tuple[str, ...], *, is_forged: bool = False) -> int:
    """Return how many checks of one machine, or of one that forges another each time, pass in an hour silently."""
    clock = SystemClock()
    cache = MemorySharedCache(clock)
    budgets, clusters, passed = TokenBudgets(cache), Clusters(cache), 0
    draw, now_ms = random.Random(1), clock.now_ms()
    signals: dict[str, Any] = {"platform": "Linux x86_64", "screen": {"width": 1366, "height": 768}, "userAgent": AGENT}
    for number in range(TRIES):
        if is_forged:
            signals["screen"] = {"width": 800 + number, "height": 600 + number}
        address = addresses[number % len(addresses)]
        request = Request(
            method="POST",
            path="/v1/browser/verify",
            query_string=b"",
            headers=[(b"user-agent", AGENT.encode())],
            address=address,
            secure=True,
        )
        # One visit in ten moves the pointer, which is enough to be no `cluster.farm`.
        did = {"pointerMoves": draw.randrange(9, 300), "variation": draw.random()} if number % 10 == 0 else {}
        member = await clusters.observe(1, request, signals, did, now_ms)
        if {"cluster.budget", "cluster.farm"}.isdisjoint(member.labels):
            passed += not (await budgets.count(1, address, now_ms)).is_over()
    return passed


def farm(lab: Laboratory, folder: Path, seconds: float) -> Spent:
    """Let a farm call the SDK."""
    lane = lab.lanes[0]
    lane.visit = visit = Pooled(POOL[0])
    before_s = used_s()
    with virtual_screen() as screen:
        browser = start(Setup(), f"{lane.origin}/farm", screen, folder)
        try:
            time.sleep(seconds)
        finally:
            end(browser)
            browser.wait()
    tokens = sum(answer.get("status") == "passed" for answer in visit.verified)
    return Spent(len(visit.verified), tokens, used_s() - before_s, visit.bytes)


def row(name: str, spent: Spent, budgets: tuple[int, int]) -> str:
    """Return a line of the table."""
    if not spent.tokens:
        return f"| {name} | 0 of {spent.tries} | no token | no token | 0 | 0 |"
    price_s = spent.cpu_s / spent.tokens
    one, pool = (min(each, round(HOUR_S / price_s)) for each in budgets)
    kilobytes = spent.sent / spent.tokens / 1000
    return f"| {name} | {spent.tokens} of {spent.tries} | {price_s:.2f} | {kilobytes:.0f} | {one:,} | {pool:,} |"


def plans_of(driver: str, variant: str, sessions: int) -> list[Plan]:
    """Return the sessions of one driver, with the check at the submit."""
    plans = make_plans(sessions, "both", "", "submit")
    return [plan for plan in plans if (plan.driver, plan.variant) == (driver, variant)]


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.attack_prices", description=__doc__)
    parser.add_argument("--sessions", type=int, default=3, help="of each driver (3)")
    parser.add_argument("--seconds", type=float, default=60, help="of the farm (60)")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    budgets = asyncio.run(budget(POOL[:1])), asyncio.run(budget(POOL))
    print(
        "| Attacker | Tokens | CPU seconds per token | KB per token | Per hour, one address | Per hour, 250 addresses |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="agentgate-prices-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with laboratory(folder, 1) as lab:
            runner = Runner(lab, packages.find_tools(), folder, told(None))
            # Some attackers copy what a person's browser sent.
            runner.run(plans_of(*PERSON, 1))
            for attacker, driver, variant in ATTACKERS:
                before_s, sent, results = used_s(), 0, []
                for plan in plans_of(driver, variant, options.sessions):
                    results += runner.run([plan])
                    sent += lab.lanes[0].visit.bytes
                seen = [result for result in results if not result.skipped]
                tokens, tries = sum(result.tokens for result in seen), sum(result.sessions for result in seen)
                print(row(attacker, Spent(tries, tokens, used_s() - before_s, sent), budgets), flush=True)
            spent = farm(lab, folder, options.seconds)
            print(row("farm: stock browser, page calls the SDK", spent, budgets))
            forged = asyncio.run(budget(POOL[:1], is_forged=True)), asyncio.run(budget(POOL, is_forged=True))
            print(row("farm that forges another machine for each check", spent, forged))


if __name__ == "__main__":
    main()
