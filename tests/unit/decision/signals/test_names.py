"""Names of people and of programs: which are trusted, where they may appear, and the outcome of the server's rules."""

import lzma
from pathlib import Path

import msgspec
import pytest

from agentgate.decision.signals.detectors.user_agent import mask_builds, view_user_agent
from agentgate.decision.signals.facts import RequestFacts
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import DATA, TOKEN_FILES, TokenFile
from agentgate.decision.threat_data.user_agent_tokens import Boundary, Token
from agentgate_tools.threat_lists.name_evidence import is_build_or_model, judge_names, names_of_people
from tests.population.visitors import population
from tests.unit.decision.signals.deciding import HOME, INTEL, decide

PEOPLE = Path(__file__).parents[3] / "population/people.txt.xz"
DATACENTER = "3.1.2.3"
PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
CHROME = "Mozilla/5.0 ({}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0 {}Safari/537.36"
PHONE = "Linux; Android {}; {}"
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS {} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{} "
    "Mobile/15E148 Safari/604.1"
)


def page_load(user_agent, *more, fetch=True):
    fetched = (("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document"))
    if "iPhone" in user_agent:
        # Safari writes it first.
        fetched, more = fetched[:2], (fetched[2], *more)
    return [
        ("host", "shop.example"),
        *more,
        ("user-agent", user_agent),
        ("accept", PAGE),
        *(fetched if fetch else ()),
        ("accept-encoding", "gzip, deflate, br"),
        ("accept-language", "en-US,en;q=0.9"),
    ]


def program(user_agent):
    return [("host", "shop.example"), ("user-agent", user_agent), ("accept", "*/*"), ("accept-encoding", "gzip")]


PHONES = [
    CHROME.format(PHONE.format(15, "CPH2581 Build/AP3A.240617.008; wv"), 131, "Mobile ") + " [FB_IAB/FB4A;FBAV/490.0]",
    CHROME.format(PHONE.format(15, "RMX3842 Build/AP3A.240617.008; wv"), 130, "Mobile "),
    CHROME.format(PHONE.format(10, "K"), 131, "Mobile ") + " [FBAN/EMA;FBLC/de_DE;FBPN/com.facebook.katana;]",
    CHROME.format(PHONE.format(9, "CUBOT_X19"), 119, "Mobile "),
    CHROME.format(PHONE.format(9, "Cubot"), 119, "Mobile "),
    CHROME.format(PHONE.format(8, "B BOT 550"), 119, "Mobile "),
    CHROME.format(PHONE.format(8, "Spider 8"), 119, "Mobile "),
    CHROME.format(PHONE.format(11, "tornado"), 119, "Mobile "),
    CHROME.format(PHONE.format(11, "treq"), 119, "Mobile "),
    CHROME.format(PHONE.format(11, "Moto G (5) butterfly"), 119, "Mobile "),
    CHROME.format("Windows NT 10.0; Win64; x64", 119, "") + " speedy/2",
    CHROME.format("Windows NT 10.0; Win64; x64", 119, "") + " Blackboard/3",
    CHROME.format("Macintosh; Intel Mac OS X 10_15_7", 119, "") + " reeder/5",
    CHROME.format("Macintosh; Intel Mac OS X 10_15_7", 119, "") + " Freespoke/1.2",
    CHROME.format("Windows NT 10.0", 119, "") + " coc_coc_browser/119",
    CHROME.format("Windows NT 10.0", 119, "") + " coccoc/119",
    CHROME.format("Windows NT 10.0", 119, "").replace("Safari", "Trae/1.0 Electron/30 Safari"),
    IPHONE.format("17_4_1", "17.4.1") + " (Ecosia ios@9.2.3.1367)",
    CHROME.format(PHONE.format(14, "SM-A546B Build/UP1A.231005.007; wv"), 138, "Mobile ") + " MetaIAB Facebook",
    IPHONE.format("18_6_2", "18.6") + " MetaIAB Facebook",
    "Mozilla/4.0 (compatible; Teleca Q7; Brew 3.1.5; U; en) 240X400 LGE VX9700",
    "Mozilla/5.0 (compatible; Teleca Q7; Brew 3.1.5; U; en) 480X800 LGE VX11000",
    "Mozilla/5.0 (Windows; U; en-US) AppleWebKit/533.3 (KHTML, like Gecko) QtWeb Internet Browser/3 http://www.QtWeb.net",
    "Nokia6300/2.0 (05.00) Profile/MIDP-2.0 Configuration/CLDC-1.1",
    "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; EmbeddedWB 14.52 from: http://www.bsalsa.com/)",
]


@pytest.mark.parametrize("user_agent", PHONES)
def test_people_whose_phone_or_app_is_named_like_a_program_pass(user_agent):
    assert decide(page_load(user_agent)) == "allow"


@pytest.mark.parametrize("word", ["MetaIAB Facebook", "QtWeb Internet Browser/3.8.5", "Teleca"])
def test_the_names_of_small_browsers_excuse_no_program(word):
    assert decide(program(f"python-requests/2.32 {word}")) == "challenge"
    assert decide(page_load(f"python-requests/2.32 {word}")) == "challenge"
    assert decide(page_load(f"{CURRENT[0]} {word} (compatible; UnheardBot/1.0)")) == "challenge"


@pytest.mark.parametrize(
    "brands",
    [
        '"Chromium";v="119", "Not A;Brand";v="24"',
        '"Brave";v="119", "Chromium";v="119", "Not?A_Brand";v="24"',
        '"DuckDuckGo";v="7", "Not?A_Brand";v="24"',
        '"Android WebView";v="119", "Not A;Brand";v="8"',
        '"Opera";v="105", "Not?A_Brand";v="24", "Chromium";v="119"',
    ],
)
def test_brands_of_small_browsers_are_fine(brands):
    hints = (("sec-ch-ua", brands), ("sec-ch-ua-mobile", "?1"), ("sec-ch-ua-platform", '"Android"'))

    assert decide(page_load(CHROME.format(PHONE.format(10, "K"), 119, "Mobile "), *hints)) == "allow"


@pytest.mark.parametrize(
    "hints",
    [
        (("sec-ch-ua", '"Chromium";v="99"'),),
        (("sec-ch-ua", '"Chromium";v="119"'), ("sec-ch-ua-platform", '"Windows"')),
    ],
)
def test_hints_that_contradict_version_or_platform_are_challenged(hints):
    user_agent = CHROME.format(PHONE.format(10, "K"), 119, "Mobile ")

    assert decide(page_load(user_agent, *hints)) == "challenge"
    assert decide(page_load(user_agent, *hints), receipt=("clearance",)) == "allow"


@pytest.mark.parametrize(
    "user_agent", ["Lynx/2.9.0 libwww-FM/2.14", "ELinks/0.13 (textmode; Linux)", "w3m/0.5.3", "Links (2.29)"]
)
def test_text_browsers_are_browsers_unless_their_headers_are_a_librarys(user_agent):
    assert decide(page_load(user_agent, fetch=False)) == "allow"
    assert decide([("host", "a"), ("user-agent", user_agent)]) == "challenge"


CURRENT = [
    CHROME.format("Windows NT 10.0; Win64; x64", 141, ""),
    CHROME.format(PHONE.format(10, "K"), 141, "Mobile "),
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0",
    IPHONE.format("18_6", "18.6"),
    IPHONE.format("18_6", "18.6").replace(
        "iPhone; CPU iPhone OS 18_6 like Mac OS X", "Macintosh; Intel Mac OS X 10_15_7"
    ),
]
LIBRARIES = {
    "requests": ["user-agent", "accept-encoding=gzip, deflate", "accept=*/*", "connection=keep-alive"],
    "curl": ["user-agent", "accept=*/*"],
    "go": ["user-agent", "accept-encoding=gzip"],
    "aiohttp": ["accept=*/*", "accept-encoding=gzip, deflate", "user-agent"],
    "undici": ["accept=*/*", "accept-language=*", "sec-fetch-mode=cors", "user-agent", "accept-encoding=gzip, deflate"],
    "axios": ["accept=application/json, text/plain, */*", "user-agent", "accept-encoding=gzip, br"],
    "okhttp": ["user-agent", "connection=Keep-Alive", "accept-encoding=gzip"],
    "copied": ["user-agent", "accept=text/html", "accept-encoding=gzip", "accept-language=en-US,en;q=0.9"],
}


@pytest.mark.parametrize("user_agent", CURRENT)
@pytest.mark.parametrize("shape", LIBRARIES)
def test_a_browsers_name_with_a_librarys_headers_is_challenged_and_its_clearance_believed(shape, user_agent):
    headers = [("host", "shop.example")]
    for written in LIBRARIES[shape]:
        name, _, value = written.partition("=")
        headers.append((name, value or user_agent))

    assert decide(headers) == "challenge"
    assert decide(headers, receipt=("clearance",)) == "allow"


def test_without_tls_no_fetch_metadata_is_expected():
    plain = page_load(CURRENT[0], fetch=False)

    assert decide(plain) == "challenge"
    assert decide(plain, is_plain=True) == "allow"


def test_a_sorting_proxy_does_not_make_people_suspect():
    for visitor in population(3, visitors=200, pages=1):
        headers = [(name.lower(), value) for name, value in visitor.first_navigation().headers]
        first = [pair for pair in headers if pair[0] in {"host", "user-agent"}]
        rest = sorted(pair for pair in headers if pair[0] not in {"host", "user-agent"})

        assert decide([*first, *rest], address=visitor.address) == "allow", visitor.browser.user_agent


@pytest.mark.parametrize(
    "user_agent",
    [
        "Mozilla/5.0 (compatible; UnheardOfBot/1.0; +https://unheard.example/bot)",
        "unheard-crawler/0.3",
        "MyScraper 1.0 (contact me@unheard.example)",
        "Mozilla/5.0 (compatible; FormFinder/1.0)",
        CHROME.format("X11; Linux x86_64", 119, "") + " (compatible; UnheardSpider/2)",
        "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
        "meta-externalagent/1.1",
        "GPTBot/1.2",
        "archive.org_bot",
    ],
)
def test_who_shows_they_is_a_bot_is_challenged_and_may_be_wanted(user_agent):
    assert decide(program(user_agent)) == "challenge"
    name = INTEL.user_agents.get(user_agent).programs
    assert decide(program(user_agent), wanted=frozenset(name[:1]), address=DATACENTER) == "allow"


@pytest.mark.parametrize(
    "user_agent", ["sqlmap/1.7", "Mozilla/5.0 (compatible; Nikto/2.5)", "WPProbe", "jSQL", "TInjA/1.0"]
)
def test_scanners_are_blocked(user_agent):
    assert decide(program(user_agent)) == "block"


def test_a_single_word_next_to_a_browsers_engine_never_blocks_permanently():
    user_agent = CURRENT[0] + " sqlmap-scanner"

    assert decide(page_load(user_agent)) == "challenge"
    assert decide(page_load(user_agent), receipt=("clearance",)) == "allow"


def test_a_driver_that_shows_it_itself_is_blocked_even_with_a_clearance():
    headless = CURRENT[0].replace("Chrome/", "HeadlessChrome/")

    assert decide(page_load(headless), receipt=("clearance",)) == "block"


WANTED = {
    "uptime": ["Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)", "Pingdom.com_bot_version_1.4"],
    "feed_reader": ["Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)", "AntennaPod/3.4.0"],
    "preview": [
        "facebookexternalhit/1.1",
        "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
        "TelegramBot (like TwitterBot)",
    ],
    "webhook": ["Stripe/1.0 (+https://stripe.com/docs/webhooks)", "GitHub-Hookshot/044aadd"],
}


@pytest.mark.parametrize(("kind", "user_agent"), [(kind, text) for kind, texts in WANTED.items() for text in texts])
def test_a_wanted_class_comes_in_from_where_it_lives(kind, user_agent):
    assert decide(program(user_agent), address=DATACENTER, wanted=frozenset({kind})) == "allow"


def test_the_bundled_names_are_none_of_peoples():
    people = lzma.decompress(PEOPLE.read_bytes()).decode().splitlines()
    people += [visitor.browser.user_agent for visitor in population(5, visitors=500, pages=1)]
    files = (msgspec.json.decode((DATA / name).read_bytes(), type=TokenFile) for name in TOKEN_FILES)
    tokens = [token.token() for file in files for token in file.tokens]

    assert len(people) > 10_000
    assert names_of_people(tokens, people) == {}
    assert [token.text for token in tokens if is_build_or_model(token.text)] == []


def test_the_build_blocks_builds_models_and_peoples_words_and_ties_others_to_the_start():
    names = ("ap3a.240617.008", "sm-g991b", "katana", "speedy", "acmebot")
    tokens = [Token(name, "scanner", Boundary.WORD, name) for name in names]
    people = ["Mozilla/5.0 (X11) speedy", "speedy/1 Mozilla/5.0", "Mozilla/5.0 (X11) my katana"]

    judged = judge_names(tokens, people)

    assert [(token.text, token.boundary) for token in judged.tokens] == [
        ("katana", Boundary.START),
        ("acmebot", Boundary.WORD),
    ]
    assert [text for text, _ in judged.refused] == ["ap3a.240617.008", "sm-g991b", "speedy"]


WORKING_PROGRAMS = [
    "npm/10.8.1 node/v20.15.0 linux x64 workspaces/false",
    "pip/24.1",
    "Gradle/8.8 (Linux;6.1.0;amd64)",
    "Microsoft-WebDAV-MiniRedir/10.0.19045",
    "Google-Calendar-Importer",
    "Pinterest/0.2 (+https://www.pinterest.com/bot.html)",
    "http.rb/5.1.1 (Mastodon/4.2.8; +https://mastodon.social/) Bot",
    "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com",
]


@pytest.mark.parametrize("user_agent", WORKING_PROGRAMS)
def test_a_program_of_a_known_class_is_no_agent_though_lists_of_crawlers_name_it(user_agent):
    observation = observe(
        RequestFacts(now_ms=0, method="GET", target="/", address=HOME, headers=tuple(program(user_agent))), INTEL
    )

    assert observation.claimed_agent is None
    assert decide(program(user_agent), wanted=frozenset(view_user_agent(user_agent, INTEL).programs)) == "allow"


@pytest.mark.parametrize("name", ["GPTBot/1.2", "AhrefsBot/7.0"])
def test_a_program_s_name_before_an_agent_s_hides_no_agent(name):
    headers = tuple(program(f"npm/10.8.1 (compatible; {name})"))

    observation = observe(RequestFacts(now_ms=0, method="GET", target="/", address=HOME, headers=headers), INTEL)

    assert observation.claimed_agent == name.partition("/")[0]


def test_a_mail_program_keeps_calendars_in_step_and_is_a_browser_where_it_opens_pages():
    headers = program("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.5.0")[:3]

    assert decide(headers, method="PROPFIND") == "allow"
    assert decide(headers, method="REPORT") == "allow"
    assert decide(headers, method="GET") == "challenge"


def test_builds_are_not_read_and_no_listed_name_has_one():
    chrome = "Mozilla/5.0 (Linux; Android 14; K) Chrome/120.0.{} Mobile"
    first, second = chrome.format("6099.71"), chrome.format("1111.99")

    assert mask_builds(first) == mask_builds(second) == chrome.format("0000.00")
    assert view_user_agent(first, INTEL) is view_user_agent(second, INTEL)
    assert view_user_agent(first.replace("120", "12"), INTEL) != view_user_agent(first, INTEL)
    assert [token.text for token in INTEL.tokens.tokens if mask_builds(token.text) != token.text] == []
