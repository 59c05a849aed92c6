"""LABELS: the catalogue of every label a decision may have, with its source and its meaning.

A name that ends in `.*` is a family: its last part is data, such as an ASN or a country.
"""

import re

from agentgate.lib.records import Record
from agentgate.protection.signals.detectors.clusters import CLUSTER_LABELS
from agentgate.protection.signals.detectors.receipt import RECEIPT_STATES

FAMILY = ".*"
FAMILY_MEMBER = re.compile(r"[a-z0-9_]{1,64}")


class SignalLabel(Record, frozen=True, kw_only=True):
    """A label, or a family of labels."""

    name: str
    source: str
    meaning: str


NET = {
    "net.datacenter": "The address belongs to a hosting or cloud company",
    "net.tor": "The address is an exit of the Tor network",
    "net.vpn": "The address is in a list of VPN networks",
    "net.private": "The address is private, local or shared and not of the open internet",
    "net.unknown": "The address could not be read",
    "net.asn.*": "The number of the network (ASN) that announces the address",
    "net.country.*": "The country of the address, two letters",
}
LIST = {
    "list.allow": "The address is in the operator's allow list",
    "list.block": "The address is in the operator's block list",
}
PATH = {
    "path.standard": "A standard path without page content, read: `/.well-known/`, `/robots.txt`, icons, site maps",
    "path.certificate": "Where a certificate authority looks for a domain's proof",
    "path.protocol": "A request that fits a protocol of git, package managers, registries or WebDAV",
    "path.feed": "A feed that the site declares; without a declaration, one of six names at the root",
}
USER_AGENT = {
    "ua.missing": "No User-Agent came, or an empty one",
    "ua.browser": "The User-Agent is that of a browser that people use",
    "ua.old": "The browser's release is more than two years old",
    "ua.http_library": "The User-Agent is that of an HTTP library or command-line program",
    "ua.crawler": "The User-Agent is that of a crawler of any kind",
    "ua.search_engine": "A crawler of a search engine",
    "ua.seo": "A crawler of a marketing or search-optimisation tool",
    "ua.archiver": "A crawler of an archive",
    "ua.academic": "A crawler of research or teaching",
    "ua.advertising": "A crawler of an advertising network",
    "ua.ai_agent": "The User-Agent is that of an AI agent, assistant or training crawler",
    "ua.headless": "A browser without a window",
    "ua.automation": "A browser under the control of a program",
    "ua.feed_reader": "A reader of feeds or podcasts",
    "ua.git": "A git client",
    "ua.preview": "A program that shows the preview of a shared link",
    "ua.uptime": "A monitor of availability or quality",
    "ua.scanner": "A scanner that looks for weaknesses or surveys the internet",
    "ua.package_manager": "The User-Agent is a package manager's, such as pip, npm, apt or docker",
    "ua.sync_client": "The User-Agent is of a program that keeps calendars, contacts or files in step",
    "ua.checker": "The User-Agent is of a program with which owners look at their own pages: accessibility, speed",
    "ua.malformed": "The User-Agent has unprintable or foreign characters or open brackets, as no browser sends",
    "ua.long": "The User-Agent is longer than any browser's",
    "ua.short": "The User-Agent has fewer than ten characters",
    "ua.unknown": "The User-Agent is neither a browser's nor any known program's",
    "ua.app": "An app on a phone, watch or television: such a device is named, and no browser or other program",
    "ua.bare": "The User-Agent is nothing but the name of a program that is in no list",
    "ua.claims_browser": "The User-Agent claims a browser's engine and names a program beside it",
    "ua.webhook": "A service that calls back when something has happened",
    "ua.text_browser": "A browser that shows text only, such as Lynx",
    "ua.webview": "A browser inside an app",
    "ua.tv": "The browser of a television or of a box beside it",
    "ua.console": "The browser of a game console",
    "ua.legacy": "A browser of a time or a telephone that sends few headers",
    "ua.refused.*": "A listed program that was refused, or would have been in monitor mode",
    "ua.wanted": "The site's settings name this program or its class as wanted",
}
HTTP = {
    "http.accept_missing": "No Accept header came",
    "http.accept_language_missing": "No Accept-Language header came",
    "http.accept_encoding_missing": "No Accept-Encoding header came",
    "http.accept_mismatch": "A browser's page load that accepts anything, as no browser's does",
    "http.connection_close": "The client asked to close the connection",
    "http.duplicate_header": "A header came more than once",
    "http.few_headers": "Fewer than four headers came",
    "http.host_unknown": "The proxy routes the request by a host that is not an origin of the site",
    "http.many_headers": "More than forty headers came",
    "http.order_mismatch": "The headers are not in the order in which the claimed browser sends them",
    "http.plain_origin": "The site was asked for without TLS, where browsers leave out Sec-Fetch and Sec-CH-UA",
    "http.unlike_browser": "The headers, taken together, are not those that the claimed browser sends",
    "http.tls_mismatch": "The TLS handshake that the proxy saw (JA4) is not one of the claimed browser's engine",
    "http.unusual_method": "The method is none of the usual ones",
    "http.via": "A proxy says that it passed the request on",
    "http.client_hints_headless": "Sec-CH-UA names a browser without a window",
    "http.client_hints_mismatch": "Sec-CH-UA contradicts the User-Agent: brand, version, platform or mobile",
    "http.client_hints_missing": "The claimed browser sends Sec-CH-UA wherever it sends Sec-Fetch; this did not",
    "http.fetch_metadata_mismatch": "The Sec-Fetch headers contradict each other or have unknown values",
    "http.fetch_metadata_missing": "The claimed browser sends Sec-Fetch headers to secure sites, and none came",
}
RATE = {
    "rate.visitor.high": "The clearance, or the address without one, did at least 180 things within a minute: pages, "
    "forms, calls; not the parts of pages",
    "rate.visitor.extreme": "The clearance, or the address without one, did at least 600 things within a minute",
    "rate.network.high": "The visitor's /24 or /64 did at least 1,500 things within a minute",
    "rate.network.extreme": "The visitor's /24 or /64 did at least 6,000 things within a minute",
    "rate.parts.high": "More parts of pages were loaded than the pages that were allowed can have",
}
AGENT = {
    "agent.verified": "The request is signed, and the signature is of a known agent",
    "agent.invalid": "The request is signed, and the signature is wrong",
    "agent.unverified": "The request is signed, and whose key it is could not be found out",
    "agent.claimed": "The User-Agent names a known AI agent or crawler; nothing proves it",
    "agent.search_verified": "The User-Agent names a search engine's crawler, and the address is the operator's",
    "agent.search_forged": "The User-Agent names a search engine's crawler, and the address is not the operator's",
    "agent.search_unconfirmed": "The User-Agent names a search engine's crawler, whose address is being looked up",
    "agent.search_unknown": "The User-Agent names a search engine's crawler, and nobody could tell whose address it is",
    "agent.program_verified": "The User-Agent names a preview, monitor, webhook or scanner at its operator's address",
    "agent.program_named": "The User-Agent names a feed reader, monitor, preview or checker within its shared budget",
    "agent.name.*": "The name that the User-Agent claims, as the list writes it, in lower case",
    "agent.purpose.*": "What the agent fetches pages for: training, search, fetch, dataset, ...",
}
RECEIPT = {f"receipt.{state}": meaning for state, meaning in RECEIPT_STATES.items()}
BROWSER = {
    "browser.evidence": "A browser check took part and sent its evidence",
    "browser.no_evidence": "A browser check took part and sent nothing that can be read",
    "browser.webdriver": "The browser says that a program controls it",
    "browser.automation": "Traces of an automation tool were found in the page",
    "browser.headless": "The browser has no window",
    "browser.software_renderer": "Graphics are drawn by software, as on a server",
    "browser.no_languages": "The browser has no languages",
    "browser.no_plugins": "A desktop browser without the plug-ins that it always has",
    "browser.no_screen": "The screen has no width or no height",
    "browser.no_window_frame": "The window has no outer size",
    "browser.window_mismatch": "The page fills the screen, and the window is larger or shows nothing around it",
    "browser.worker_mismatch": "Page and worker disagree about the browser",
    "browser.worker_missing": "A browser that has workers sent nothing from one; a page's policy may forbid it",
    "browser.frame_mismatch": "The page and a fresh frame in it disagree about the browser",
    "browser.frame_missing": "The evidence has nothing from a fresh frame in the page",
    "browser.injected": "Functions that a driver put into the page, or a driver's script that called the SDK",
    "browser.incomplete": "The evidence lacks what the SDK sends from every browser",
    "browser.user_agent_mismatch": "The page and the header disagree about the User-Agent",
    "browser.language_mismatch": "The page's language is not among those of Accept-Language",
    "browser.platform_mismatch": "The page's platform is not that of the User-Agent",
    "browser.touch_mismatch": "A mobile browser without a touch screen",
    "browser.patched": "Functions of the browser itself were replaced",
    "browser.no_timezone": "The browser has no time zone",
    "browser.debugger": "A debugger is attached to the page",
    "browser.permission_mismatch": "The browser contradicts itself about permissions",
    "browser.instrument_failed": "The program made for this check gave a wrong answer",
}
PROBES = {
    "probes.right": "Programs that need a real engine were answered as real engines answer them",
    "probes.wrong": "Programs that need a real engine were answered otherwise than the claimed browser answers them",
    "probes.missing": "A browser that can answer programs which need a real engine sent no answers",
    "probes.no_layout": "None of the programs that nest every layout was answered as engines do, or no answer came",
    "probes.unproven": "No evidence of an engine, nor against one: an unknown or old version, or no program could run",
    "probes.engine_mismatch": "Another kind of engine than the User-Agent's answered: Gecko for Blink, or the reverse",
}
BEHAVIOR = {
    "behavior.none": "No pointer, touch, key or scroll at all; also true of some assistive tools",
    "behavior.untrusted_events": "Events were made by a script, not by the browser",
    "behavior.click_only": "A click without any movement before it",
    "behavior.keyboard_only": "Keys only, as with assistive tools",
    "behavior.too_fast": "Everything happened faster than a hand can do it",
    "behavior.straight_pointer": "The pointer moved in a perfectly straight line",
    "behavior.uniform_timing": "The times between events are all the same",
}
INPUT = {
    "input.missing": "The sums of input that the SDK always sends did not come",
    "input.foreign_clock": "Input events are off the milliseconds of X11; also with Chromium on Wayland",
    "input.between_pixels": "A mouse between pixels, where this system has none",
    "input.adrift": "Positions on the screen that are not where the window is",
    "input.still_moves": "The pointer moved and its events say that it did not",
    "input.odd_pressure": "Presses of a mouse with a pressure that no mouse has",
    "input.ruled_path": "The pointer's strokes are straight lines",
    "input.even_path": "The steps of the pointer's strokes are all as long",
    "input.abrupt": "The pointer's strokes end in a press without slowing down",
    "input.codeless_keys": "Letters from keys without a number, which every keyboard gives them",
    "input.short_press": "Presses shorter than a finger's; also of touchpads that are tapped",
    "input.jump": "The pointer went to what it pressed in one step; also with remote desktops and voice control",
    "input.centred": "Presses in the very centre of elements; also with voice control",
    "input.short_keys": "Keys shorter than a finger's; also of password managers that type",
    "input.fast_keys": "Keys faster than anybody types; also of password managers that type",
    "input.even_presses": "Presses of a mouse that are all held equally long",
    "input.even_keys": "Keys at even times or held equally long",
    "input.text_without_keys": "Text that no key, composition, clipboard or autofill put there; also by dictation",
    "input.untouched_text": "Text in a page that the browser says nobody has ever touched",
    "input.unled_focus": "Fields that got the focus by neither a press nor a key",
    "input.robotic": "At least three traits of presses and keys that are not a hand's",
    "input.synthetic": "Input that is off the devices' clock and has another trait that no device's has",
}
EVIDENCE = {
    "evidence.missing": "The evidence, or a part that the SDK always sends, did not come",
    "evidence.doubtful": "Two independent groups of evidence speak against a person",
    "evidence.contradictory": "Three do, and one of them is not explained by extensions or privacy tools",
}
CONTENT = {
    "content.empty": "The content is blank",
    "content.long": "The content has more than 10,000 characters",
    "content.hidden_characters": "The content has characters that show nothing or turn the direction of writing",
    "content.mixed_scripts": "Words mix Latin letters with Cyrillic or Greek ones",
    "content.all_caps": "Most letters are capitals",
    "content.many_links": "The content has at least five links",
    "content.links_only": "At least half of the words are links",
    "content.markup": "The content has links or scripts in HTML or forum markup",
    "content.repetition": "The same words are repeated over and over",
    "content.spam_phrase": "The content has a phrase of known advertising spam",
}
MODEL = {
    f"model.{kind}.{band}": f"The {kind} model's score is at least {least}"
    for kind in ("agent", "bot", "content")
    for band, least in (("likely", "0.8"), ("possible", "0.5"))
}

LABELS: tuple[SignalLabel, ...] = tuple(
    SignalLabel(name=name, source=name.partition(".")[0], meaning=meaning)
    for group in (
        NET,
        HTTP,
        PATH,
        USER_AGENT,
        BROWSER,
        BEHAVIOR,
        INPUT,
        PROBES,
        EVIDENCE,
        CLUSTER_LABELS,
        RATE,
        AGENT,
        RECEIPT,
        CONTENT,
        LIST,
        MODEL,
    )
    for name, meaning in group.items()
)
EXACT_NAMES = frozenset(label.name for label in LABELS if not label.name.endswith(FAMILY))
FAMILY_NAMES = frozenset(label.name.removesuffix(FAMILY) for label in LABELS if label.name.endswith(FAMILY))


def is_label(text: str) -> bool:
    """Return whether a decision may ever have this label."""
    if text in EXACT_NAMES:
        return True
    family, _, member = text.rpartition(".")
    return family in FAMILY_NAMES and FAMILY_MEMBER.fullmatch(member) is not None
