"""The headers of one request, in the order and spelling of each engine. `README.md` lists the sources.

`Host` comes first, as a proxy writes it in front of the forwarded headers. Over HTTP/2 all other names are in lower
case.
"""

from dataclasses import dataclass

from tests.population.browsers import BRANDS, SAMSUNG, Browser
from tests.population.client_hints import brand_list
from tests.population.languages import firefox_languages, in_tenths, webkit_languages

Headers = list[tuple[str, str]]

_PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9"
_CHROMIUM_PAGE = f"{_PAGE},image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
# Chromium 150 does not take JPEG XL yet, 156 does.
_CHROMIUM_JXL = 156
# Edge supports AVIF since a later version than Chrome.
_EDGE_PAGE, _EDGE_AVIF = _CHROMIUM_PAGE.replace("image/avif,", ""), 121
_CHROMIUM_IMAGE = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
_FIREFOX_IMAGE = "image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5"
_WEBKIT_IMAGE = "image/webp,image/png,image/svg+xml,image/*;q=0.8,video/*;q=0.8,*/*;q=0.5"
_STYLE = "text/css,*/*;q=0.1"
_FIREFOX_FONT = "application/font-woff2;q=1.0,application/font-woff;q=0.9,*/*;q=0.8"
# Sec-Fetch-Mode of what a page loads; everything else is `no-cors`.
_CORS = frozenset({"empty", "font"})
_CHROMIUM_PRIORITY = {"document": "u=0, i", "style": "u=0", "script": "u=1", "image": "i", "empty": "u=1, i"}
_FIREFOX_PRIORITY = {"document": "u=0, i", "style": "u=2", "script": "u=2", "image": "u=5, i", "empty": "u=4"}
_WEBKIT_PRIORITY = {"document": "u=0, i", "style": "u=1", "script": "u=1", "image": "u=5, i", "empty": "u=3, i"}
# The first versions that send Priority, and that take zstd.
_PRIORITY = {"chromium": (124, 0), "gecko": (128, 0), "webkit": (18, 4)}
_CHROMIUM_ZSTD, _FIREFOX_ZSTD = 123, 126
# Since then Chromium writes the hints of a sub-resource around the User-Agent in another order.
_CHROMIUM_HINTS_MOVED = 130
# Safari sends Sec-Fetch since 16.4, and writes its headers in another order since 18.
_WEBKIT_REORDERED = (18, 0)


@dataclass(frozen=True, slots=True)
class Load:
    """The next request of a browser: a page, or a subresource (`destination` as in Sec-Fetch-Dest)."""

    host: str
    destination: str = "document"
    # As in Sec-Fetch-Site; `none` is an address that was typed or a bookmark.
    site: str = "none"
    referer: str = ""
    cookie: str = ""


def headers_of(browser: Browser, load: Load) -> Headers:
    """Return the headers of a GET."""
    written = {"chromium": _chromium, "gecko": _gecko, "webkit": _webkit}[browser.engine](browser, load)
    kept = [(name, value) for name, value in written if value]
    if browser.http == 1:
        return [("Host", load.host), *kept]
    return [("Host", load.host), *((name.lower(), value) for name, value in kept if name != "Connection")]


def _chromium(browser: Browser, load: Load) -> Headers:
    version, page = browser.version[0], load.destination == "document"
    hints = {
        "sec-ch-ua": brand_list(BRANDS[browser.name], version, _own_version(browser)),
        "sec-ch-ua-mobile": "?1" if browser.mobile else "?0",
        "sec-ch-ua-platform": f'"{browser.platform}"',
    }
    agent = ("User-Agent", browser.user_agent)
    if page:
        first = [*hints.items(), _privacy(browser, "DNT"), ("Upgrade-Insecure-Requests", "1"), agent]
    elif version >= _CHROMIUM_HINTS_MOVED:
        platform = ("sec-ch-ua-platform", hints.pop("sec-ch-ua-platform"))
        first = [platform, agent, *hints.items(), _privacy(browser, "DNT")]
    else:
        platform = ("sec-ch-ua-platform", hints.pop("sec-ch-ua-platform"))
        first = [*hints.items(), _privacy(browser, "DNT"), agent, platform]
    origin = f"https://{load.host}" if load.destination == "font" else ""
    app = ("X-Requested-With", browser.package if page else "")
    accepted = {"document": _CHROMIUM_PAGE, "image": _CHROMIUM_IMAGE, "style": _STYLE}
    if version >= _CHROMIUM_JXL:
        for kind in ("document", "image"):
            accepted[kind] = accepted[kind].replace("image/avif", "image/jxl,image/avif")
    if browser.name == "Edge" and version < _EDGE_AVIF:
        accepted["document"] = _EDGE_PAGE
    return [
        ("Connection", "keep-alive"),
        ("Origin", origin),
        *first,
        ("Accept", accepted.get(load.destination, "*/*")),
        app,
        ("Sec-Fetch-Site", load.site),
        ("Sec-Fetch-Mode", _mode(load)),
        ("Sec-Fetch-User", "?1" if page else ""),
        ("Sec-Fetch-Dest", load.destination),
        ("Referer", load.referer),
        ("Accept-Encoding", _encodings(zstd=version >= _CHROMIUM_ZSTD)),
        ("Accept-Language", in_tenths(browser.language.chromium)),
        ("Cookie", load.cookie),
        # Chromium sends it over HTTP/2 only.
        ("Priority", _priority(browser, _CHROMIUM_PRIORITY, load) if browser.http == 2 else ""),
    ]


def _gecko(browser: Browser, load: Load) -> Headers:
    version, page = browser.version[0], load.destination == "document"
    images = _FIREFOX_IMAGE if version >= 128 else "image/avif,image/webp,*/*"
    accepted = {"document": _firefox_page(version), "image": images, "style": _STYLE, "font": _FIREFOX_FONT}
    referer = ("Referer", load.referer)
    # Requests of scripts have the referrer before the connection, all others after it.
    fetched = load.destination == "empty"
    return [
        ("User-Agent", browser.user_agent),
        ("Accept", accepted.get(load.destination, "*/*")),
        ("Accept-Language", firefox_languages(browser.language, version)),
        ("Accept-Encoding", _encodings(zstd=version >= _FIREFOX_ZSTD)),
        *([referer] if fetched else []),
        _privacy(browser, "Sec-GPC"),
        ("Connection", "keep-alive"),
        *([] if fetched else [referer]),
        ("Cookie", load.cookie),
        ("Upgrade-Insecure-Requests", "1" if page else ""),
        ("Sec-Fetch-Dest", load.destination),
        ("Sec-Fetch-Mode", _mode(load)),
        ("Sec-Fetch-Site", load.site),
        ("Sec-Fetch-User", "?1" if page else ""),
        ("Priority", _priority(browser, _FIREFOX_PRIORITY, load)),
        ("TE", "trailers" if browser.http == 2 else ""),
    ]


def _webkit(browser: Browser, load: Load) -> Headers:
    accepted = {"document": f"{_PAGE},*/*;q=0.8", "image": _WEBKIT_IMAGE, "style": _STYLE}
    accept = ("Accept", accepted.get(load.destination, "*/*"))
    destination, mode = ("Sec-Fetch-Dest", load.destination), ("Sec-Fetch-Mode", _mode(load))
    site, agent = ("Sec-Fetch-Site", load.site), ("User-Agent", browser.user_agent)
    languages = ("Accept-Language", webkit_languages(browser.language))
    encodings = ("Accept-Encoding", _encodings(zstd=browser.zstd))
    referer, cookie = ("Referer", load.referer), ("Cookie", load.cookie)
    if browser.version < _WEBKIT_REORDERED:
        return [accept, site, cookie, encodings, mode, agent, referer, languages, destination]
    priority = ("Priority", _priority(browser, _WEBKIT_PRIORITY, load))
    return [destination, agent, accept, referer, site, mode, languages, priority, encodings, cookie]


def _mode(load: Load) -> str:
    if load.destination == "document":
        return "navigate"
    return "cors" if load.destination in _CORS else "no-cors"


def _encodings(*, zstd: bool) -> str:
    return "gzip, deflate, br, zstd" if zstd else "gzip, deflate, br"


def _firefox_page(version: int) -> str:
    if version >= 132:
        return f"{_PAGE},*/*;q=0.8"
    images = "image/avif,image/webp,image/png,image/svg+xml" if version >= 128 else "image/avif,image/webp"
    return f"{_PAGE},{images},*/*;q=0.8"


def _priority(browser: Browser, table: dict[str, str], load: Load) -> str:
    return table.get(load.destination, "") if browser.version >= _PRIORITY[browser.engine] else ""


def _privacy(browser: Browser, name: str) -> tuple[str, str]:
    return name, "1" if browser.privacy == name else ""


def _own_version(browser: Browser) -> str:
    return SAMSUNG[browser.version[0]] if browser.name == "Samsung Internet" else ""
