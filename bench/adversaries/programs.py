"""Which automation comes, and which half is held out while detectors are tuned: split by driver, never by session."""

from dataclasses import dataclass

from bench.adversaries.personas import HELD_OUT, TUNING


@dataclass(frozen=True)
class Program:
    """One way to get tokens without a person."""

    driver: str
    variant: str
    half: str
    # The module in `drivers`; a name with .mjs is run by Node.js.
    module: str
    # Tabs in one browser, all from one address.
    tries: int = 1
    # The token is earned by one visitor and spent by another.
    sold: bool = False
    # It copies the evidence that a person's browser sent before.
    copies: bool = False


def _all(driver: str, half: str, module: str, *variants: str) -> tuple[Program, ...]:
    return tuple(Program(driver, variant, half, module) for variant in variants)


PROGRAMS: tuple[Program, ...] = (
    *_all("requests", TUNING, "http_clients", "requests", "requests headers", "requests headers signals"),
    *_all("curl", TUNING, "http_clients", "curl", "curl headers signals"),
    *_all("httpx", HELD_OUT, "http_clients", "httpx", "httpx headers signals"),
    *_all("aiohttp", HELD_OUT, "http_clients", "aiohttp headers"),
    *_all("curl_cffi", HELD_OUT, "http_clients", "curl_cffi", "curl_cffi headers signals"),
    Program("solver", "httpx headers copied", TUNING, "http_clients", copies=True),
    Program("solver", "curl_cffi headers copied", HELD_OUT, "http_clients", copies=True),
    *(
        Program("solver of formulas", f"solver {claim}", TUNING, "solver.mjs", copies=True)
        for claim in ("seen", "newer", "old", "webkit", "none", "error")
    ),
    *_all("jsdom", TUNING, "documents.mjs", "jsdom", "jsdom shims"),
    *_all("happy-dom", HELD_OUT, "documents.mjs", "happy-dom", "happy-dom shims"),
    *_all(
        "playwright",
        TUNING,
        "playwrights",
        "playwright",
        "playwright new",
        "playwright windowed",
        "playwright renamed hidden unmarked",
        "playwright windowed unmarked deep",
        "playwright windowed unmarked hand",
    ),
    *_all("patchright", HELD_OUT, "playwrights", "patchright", "patchright windowed", "patchright windowed hand"),
    *_all(
        "rebrowser-playwright", TUNING, "playwrights", "rebrowser_playwright", "rebrowser_playwright windowed unmarked"
    ),
    Program("solver with an engine", "playwright renamed unmarked forged", TUNING, "playwrights", copies=True),
    Program("solver with an engine", "patchright renamed forged", HELD_OUT, "playwrights", copies=True),
    Program("solver with an engine", "patchright windowed forged", HELD_OUT, "playwrights", copies=True),
    Program("solver with an engine", "playwright renamed unmarked forged noisy", TUNING, "playwrights", copies=True),
    Program("solver guessing", "playwright renamed unmarked forged noisy guessed", TUNING, "playwrights", copies=True),
    Program("solver without layout", "patchright renamed forged noisy silent", HELD_OUT, "playwrights", copies=True),
    Program("farm", "patchright windowed", TUNING, "playwrights", tries=8),
    Program("farm", "playwright renamed unmarked", HELD_OUT, "playwrights", tries=8),
    *_all(
        "puppeteer", TUNING, "tools.mjs", "puppeteer-core", "puppeteer-core windowed", "puppeteer-core windowed cursor"
    ),
    *_all("puppeteer stealth", HELD_OUT, "tools.mjs", "stealth", "stealth windowed", "stealth windowed cursor"),
    *_all(
        "rebrowser-puppeteer", HELD_OUT, "tools.mjs", "rebrowser", "rebrowser windowed", "rebrowser-stealth windowed"
    ),
    *_all("playwright-extra", HELD_OUT, "tools.mjs", "playwright-extra", "playwright-extra windowed"),
    *_all("rebrowser-playwright for Node.js", TUNING, "tools.mjs", "rebrowser-playwright windowed"),
    *_all("Firefox by BiDi", TUNING, "tools.mjs", "bidi", "bidi windowed"),
    *_all("Firefox by Marionette", HELD_OUT, "marionette", "headless", "windowed", "windowed hidden"),
    *_all("selenium", TUNING, "web_drivers", "selenium", "selenium windowed", "selenium windowed hidden"),
    *_all("undetected-chromedriver", HELD_OUT, "web_drivers", "undetected", "undetected windowed"),
    *_all("selenium-driverless", TUNING, "web_drivers", "driverless", "driverless windowed"),
    *_all("nodriver", TUNING, "cdp_tools", "nodriver", "nodriver windowed"),
    *_all("zendriver", HELD_OUT, "cdp_tools", "zendriver", "zendriver windowed"),
    *_all("pydoll", TUNING, "cdp_tools", "pydoll", "pydoll windowed"),
    *_all("DrissionPage", HELD_OUT, "cdp_tools", "drission", "drission windowed"),
    *_all("direct CDP", TUNING, "direct_cdp", "windowed", "windowed runtime", "headless", "windowed hand"),
    *_all("direct CDP hand", HELD_OUT, "direct_cdp", "headless hand", "windowed runtime hand"),
    *_all("X11 robot", TUNING, "x_robot", "chromium teleport", "chromium straight"),
    *_all("X11 robot curved", HELD_OUT, "x_robot", "chromium curved", "firefox straight", "firefox teleport"),
    *_all(
        "letters without keys",
        HELD_OUT,
        "direct_cdp",
        "windowed letters",
        "windowed hand pairs",
        "windowed hand touch letters",
    ),
    *_all("script with a gesture", HELD_OUT, "direct_cdp", "windowed gesture", "windowed moved gesture"),
    *_all("extension", HELD_OUT, "extension", "click", "request", "submit"),
    *_all("extension, fields filled at load", HELD_OUT, "extension", "click early", "request early", "submit once"),
    *_all("extension and a moved mouse", HELD_OUT, "extension", "click pointer", "request pointer"),
    *_all("extension with editing commands", HELD_OUT, "extension", "click commands"),
    Program("token sold", "chromium curved", TUNING, "person", sold=True),
    Program("token sold", "firefox curved", HELD_OUT, "person", sold=True),
)
