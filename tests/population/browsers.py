"""Browsers as people have them: product, system, version and language. `headers.py` has their headers."""

from dataclasses import dataclass
from random import Random
from typing import TypeVar

from tests.population.languages import LANGUAGES, Language


@dataclass(frozen=True, slots=True)
class Browser:
    """One installed browser. `engine` decides the headers: on iOS every browser has WebKit's."""

    name: str
    platform: str
    engine: str
    # Of Safari, and of what runs on its engine: major and minor; of others the minor is 0.
    version: tuple[int, int]
    user_agent: str
    language: Language
    mobile: bool = False
    # HTTP/1.1 or HTTP/2 toward the site.
    http: int = 2
    # `DNT` or `Sec-GPC`, if the user enabled it.
    privacy: str = ""
    # WebKit on the newest systems.
    zstd: bool = True
    # Of a browser in an app: the app's package.
    package: str = ""


Version = TypeVar("Version")
Mix = tuple[tuple[str, str, float], ...]
# Name, platform and how many of a thousand people have it.
EVERYBODY: Mix = (
    ("Chrome", "Windows", 240),
    ("Chrome", "macOS", 70),
    ("Chrome", "Linux", 20),
    ("Chrome", "Android", 280),
    ("Chrome", "iOS", 25),
    ("Edge", "Windows", 60),
    ("Edge", "macOS", 6),
    ("Edge", "Linux", 2),
    ("Edge", "Android", 4),
    ("Edge", "iOS", 3),
    ("Safari", "iOS", 170),
    ("Safari", "macOS", 55),
    ("Firefox", "Windows", 32),
    ("Firefox", "macOS", 10),
    ("Firefox", "Linux", 10),
    ("Firefox", "Android", 10),
    ("Firefox", "iOS", 3),
    ("Samsung Internet", "Android", 25),
    ("WebView", "Android", 35),
    ("WebView", "iOS", 30),
)
CHROMES: Mix = tuple(
    (name, platform, share) for name, platform, share in EVERYBODY if name in {"Chrome", "Edge"} and platform != "iOS"
)
BRANDS = {
    "Chrome": "Google Chrome",
    "Edge": "Microsoft Edge",
    "Samsung Internet": "Samsung Internet",
    "WebView": "Android WebView",
}
# Samsung Internet by the Chromium that it is made from.
SAMSUNG = {121: "25.0", 122: "26.0", 125: "27.0", 130: "28.0", 136: "29.0"}
# Apps that show pages themselves: what they add to the User-Agent on Android and on iOS, and their package.
APPS = (
    ("[FB_IAB/FB4A;FBAV/489.0.0.66.81;]", "[FBAN/FBIOS;FBAV/489.0.0.38.105;FBDV/iPhone15,3]", "com.facebook.katana"),
    ("Instagram 356.0.0.41.101 Android", "Instagram 356.0.0.36.102 (iPhone15,3; iOS 18_1)", "com.instagram.android"),
    (
        "musical_ly_2023700040 BytedanceWebview/d8a21c6",
        "musical_ly_37.0.0 BytedanceWebview/d8a21c6",
        "com.zhiliaoapp.musically",
    ),
    ("Line/14.19.2/IAB", "Safari Line/14.19.0", "jp.naver.line.android"),
    ("Snapchat/13.10.0.43", "Snapchat/13.10.0.37 (like Safari/8619.2.8)", "com.snapchat.android"),
    ("[Pinterest/Android]", "[Pinterest/iOS]", "com.pinterest"),
    ("", "", "org.telegram.messenger"),
)
_PHONES = (
    *(
        ("14", "SM-S918B Build/UP1A.231005.007"),
        ("14", "Pixel 8 Build/AP2A.240905.003"),
        ("13", "2201117TG Build/TKQ1.221114.001"),
    ),
    *(
        ("15", "CPH2581 Build/AP3A.240617.008"),
        ("12", "moto g power (2022) Build/S3RQS32.20"),
        ("15", "RMX3998 Build/AP3A.240617.008"),
    ),
)

# Most people have the newest or the one before; a few stay behind for long.
CHROMIUM = tuple(range(120, 151))
FIREFOX = (115, 128, *range(133, 152))
SAFARI = (
    *((16, 6), (17, 0), (17, 1), (17, 2), (17, 3), (17, 4), (17, 5), (17, 6)),
    *((18, 0), (18, 1), (18, 2), (18, 3), (18, 4), (18, 5), (18, 6), (26, 0), (26, 1), (26, 2)),
)
# Builds that Chrome for iOS names, and Edge for iOS.
_CHROME_IOS = {139: "7258.76", 140: "7339.122", 141: "7390.41", 142: "7444.77", 143: "7499.92", 144: "7559.85"}
_EDGE_IOS = {142: "3595.66", 143: "3650.75", 146: "3856.102"}
_FROM_WEBKIT = (18, 26)

_SYSTEMS = {
    "Windows": "Windows NT 10.0; Win64; x64",
    "macOS": "Macintosh; Intel Mac OS X 10_15_7",
    "Linux": "X11; Linux x86_64",
    "Android": "Linux; Android 10; K",
}
_FIREFOX_SYSTEMS = {
    "Windows": ("Windows NT 10.0; Win64; x64",),
    "macOS": ("Macintosh; Intel Mac OS X 10.15",),
    "Linux": ("X11; Linux x86_64", "X11; Ubuntu; Linux x86_64"),
    "Android": ("Android 13; Mobile", "Android 14; Mobile", "Android 15; Mobile"),
}
_LANGUAGE_SHARES = [language.share for language in LANGUAGES]
_TABLET_SHARE, _HTTP_1_SHARE, _PRIVACY_SHARE, _UP_TO_DATE_SHARE = 0.08, 0.12, 0.06, 0.75


def choose_browser(chance: Random, mix: Mix = EVERYBODY) -> Browser:
    """Return the browser of a random person."""
    ((name, platform, _),) = chance.choices(mix, [share for *_, share in mix])
    (language,) = chance.choices(LANGUAGES, _LANGUAGE_SHARES)
    if (name, platform) == ("WebView", "iOS"):
        return _in_an_app_on_ios(chance, language)
    if platform == "iOS" or name == "Safari":
        return _webkit(chance, name, platform, language)
    http = 1 if chance.random() < _HTTP_1_SHARE else 2
    private = chance.random() < _PRIVACY_SHARE
    if name == "Firefox":
        version = _recent(chance, FIREFOX)
        user_agent = _firefox_agent(chance.choice(_FIREFOX_SYSTEMS[platform]), version)
        privacy = "Sec-GPC" if private else ""
        mobile = platform == "Android"
        return Browser(name, platform, "gecko", (version, 0), user_agent, language, mobile, http, privacy)
    if name in {"Samsung Internet", "WebView"}:
        return _embedded(chance, name, language)
    version = _recent(chance, CHROMIUM)
    mobile = platform == "Android" and chance.random() >= _TABLET_SHARE
    user_agent = _chromium_agent(name, platform, version, mobile=mobile)
    return Browser(
        name, platform, "chromium", (version, 0), user_agent, language, mobile, http, "DNT" if private else ""
    )


def _recent(chance: Random, versions: tuple[Version, ...]) -> Version:
    """Choose a version: most people have one of the newest few, the rest are spread over all."""
    if chance.random() >= _UP_TO_DATE_SHARE:
        return chance.choice(versions)
    return versions[-1 - min(int(chance.expovariate(0.4)), len(versions) - 1)]


def _chromium_agent(name: str, platform: str, version: int, *, mobile: bool) -> str:
    phone = " Mobile" if mobile else ""
    suffix = {"Chrome": "", "Edge": f" {'EdgA' if platform == 'Android' else 'Edg'}/{version}.0.0.0"}[name]
    start = f"Mozilla/5.0 ({_SYSTEMS[platform]}) AppleWebKit/537.36 (KHTML, like Gecko)"
    return f"{start} Chrome/{version}.0.0.0{phone} Safari/537.36{suffix}"


def _firefox_agent(system: str, version: int) -> str:
    # From 110 to 119 the first number was held at 109, for sites that took 11 for Internet Explorer.
    revision = 109 if 110 <= version < 120 else version
    gecko = f"{version}.0" if system.startswith("Android") else "20100101"
    return f"Mozilla/5.0 ({system}; rv:{revision}.0) Gecko/{gecko} Firefox/{version}.0"


def _webkit(chance: Random, name: str, platform: str, language: Language) -> Browser:
    version = _recent(chance, SAFARI)
    if name != "Safari":
        version = (chance.choice(_FROM_WEBKIT), 0)
    text = f"{version[0]}.{version[1]}"
    if platform == "macOS":
        start = f"Mozilla/5.0 ({_SYSTEMS['macOS']}) AppleWebKit/605.1.15 (KHTML, like Gecko)"
        user_agent = f"{start} Version/{text} Safari/605.1.15"
    else:
        user_agent = _ios_agent(chance, name, version)
    newest = version[0] >= 26 and (platform == "iOS" or chance.random() < 0.5)
    return Browser(name, platform, "webkit", version, user_agent, language, platform == "iOS", zstd=newest)


def _ios_agent(chance: Random, name: str, version: tuple[int, int]) -> str:
    # From 26 on the system that is named stays 18.
    system = "18_6" if version[0] >= 26 else f"{version[0]}_{version[1]}"
    start = f"Mozilla/5.0 (iPhone; CPU iPhone OS {system} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
    if name == "Chrome":
        major, build = chance.choice(tuple(_CHROME_IOS.items()))
        return f"{start} CriOS/{major}.0.{build} Mobile/15E148 Safari/604.1"
    if name == "Edge":
        major, build = chance.choice(tuple(_EDGE_IOS.items()))
        return f"{start} Version/{version[0]}.0 EdgiOS/{major}.0.{build} Mobile/15E148 Safari/605.1.15"
    if name == "Firefox":
        return f"{start} FxiOS/{chance.choice(FIREFOX[-10:])}.0 Mobile/15E148 Safari/605.1.15"
    return f"{start} Version/{version[0]}.{version[1]} Mobile/15E148 Safari/604.1"


def _embedded(chance: Random, name: str, language: Language) -> Browser:
    """Return Samsung Internet, or a browser in an app on Android: they name the build, and the phone."""
    if name == "Samsung Internet":
        major = chance.choice(tuple(SAMSUNG))
        start = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko)"
        text = f"{start} SamsungBrowser/{SAMSUNG[major]} Chrome/{major}.0.0.0 Mobile Safari/537.36"
        return Browser(name, "Android", "chromium", (major, 0), text, language, mobile=True)
    major, (android, phone) = _recent(chance, CHROMIUM), chance.choice(_PHONES)
    said, _, package = chance.choice(APPS)
    start = f"Mozilla/5.0 (Linux; Android {android}; {phone}; wv) AppleWebKit/537.36 (KHTML, like Gecko)"
    build = f"{major}.0.{chance.randrange(6000, 7600)}.{chance.randrange(40, 160)}"
    text = f"{start} Version/4.0 Chrome/{build} Mobile Safari/537.36 {said}".rstrip()
    return Browser(name, "Android", "chromium", (major, 0), text, language, mobile=True, package=package)


def _in_an_app_on_ios(chance: Random, language: Language) -> Browser:
    version = _recent(chance, SAFARI)
    system = "18_6" if version[0] >= 26 else f"{version[0]}_{version[1]}"
    _, said, _ = chance.choice(APPS)
    start = f"Mozilla/5.0 (iPhone; CPU iPhone OS {system} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
    text = f"{start} Mobile/15E148 {said}".rstrip()
    return Browser("WebView", "iOS", "webkit", version, text, language, mobile=True, zstd=version[0] >= 26)
