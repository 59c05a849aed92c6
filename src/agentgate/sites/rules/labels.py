"""LABELS: the catalog of every label a decision may have, with its source and its meaning.

A name that ends in `.*` is a family: its last part is data, such as an ASN or a country.
"""

import re

from agentgate.lib.records import Record

FAMILY = ".*"
FAMILY_MEMBER = re.compile(r"[a-z0-9_]{1,64}")


class SignalLabel(Record, frozen=True, kw_only=True):
    """A label, or a family of labels."""

    name: str
    source: str
    meaning: str


NET = {
    "net.datacenter": "The IP address belongs to a hosting or cloud provider",
    "net.tor": "The IP address is a Tor exit node",
    "net.vpn": "The IP address is in a list of VPN networks",
    "net.private": "The IP address is private, local or shared, not public",
    "net.unknown": "The IP address is malformed",
    "net.asn.*": "The number of the network (ASN) that announces the IP address",
    "net.country.*": "The country of the IP address, two letters",
}
LIST = {
    "list.allow": "The IP address is in the operator's allowlist",
    "list.block": "The IP address is in the operator's blocklist",
}
PATH = {
    "path.standard": "A GET or HEAD request for a standard path without page content: `/.well-known/`,"
    " `/robots.txt`, icons, sitemaps",
    "path.certificate": "The path at which a certificate authority validates a domain",
    "path.protocol": "The request matches a protocol of git, package managers, registries or WebDAV",
    "path.feed": "A feed that the site declares. Default: one of six names at the root",
}
USER_AGENT = {
    "ua.missing": "The User-Agent is missing or empty",
    "ua.browser": "The User-Agent names a common browser",
    "ua.old": "The browser's release is more than two years old",
    "ua.http_library": "The User-Agent names an HTTP library or command-line client",
    "ua.crawler": "The User-Agent names a crawler of any kind",
    "ua.search_engine": "A search engine crawler",
    "ua.seo": "A crawler of a marketing or search engine optimization tool",
    "ua.archiver": "An archive crawler",
    "ua.academic": "A crawler for research or teaching",
    "ua.advertising": "An advertising network crawler",
    "ua.ai_agent": "The User-Agent names an AI agent, assistant or training crawler",
    "ua.headless": "A headless browser",
    "ua.automation": "A browser controlled by automation",
    "ua.feed_reader": "A feed or podcast reader",
    "ua.git": "A git client",
    "ua.preview": "A service that generates previews of shared links",
    "ua.uptime": "An uptime or quality monitor",
    "ua.scanner": "A scanner that searches for vulnerabilities or surveys the internet",
    "ua.package_manager": "The User-Agent names a package manager such as pip, npm, apt or docker",
    "ua.sync_client": "The User-Agent names a client that syncs calendars, contacts or files",
    "ua.checker": "The User-Agent names a tool that owners use to test their pages: accessibility, speed",
    "ua.malformed": "The User-Agent has unprintable or foreign characters or open brackets, which browsers do not send",
    "ua.long": "The User-Agent is longer than any browser's",
    "ua.short": "The User-Agent has fewer than ten characters",
    "ua.unknown": "The User-Agent does not match any known browser or client",
    "ua.app": "The User-Agent names a phone, watch or TV app's device but not a browser or known client",
    "ua.bare": "The User-Agent is only the name of an unlisted client",
    "ua.claims_browser": "The User-Agent claims a browser engine and also names another client",
    "ua.webhook": "A service that sends webhooks",
    "ua.text_browser": "A text-only browser such as Lynx",
    "ua.webview": "A browser inside an app",
    "ua.tv": "The browser of a TV or set-top box",
    "ua.console": "The browser of a game console",
    "ua.legacy": "An old or simple mobile browser that sends few headers",
    "ua.refused.*": "A listed client that was blocked or, in monitor mode, would have been blocked",
    "ua.wanted": "The site's wantedPrograms setting names this client or its class",
}
HTTP = {
    "http.accept_missing": "The Accept header is missing",
    "http.accept_language_missing": "The Accept-Language header is missing",
    "http.accept_encoding_missing": "The Accept-Encoding header is missing",
    "http.accept_mismatch": "A page load with a browser's User-Agent and Accept: */*, which browsers do not send",
    "http.connection_close": "The client requested to close the connection",
    "http.duplicate_header": "A header was sent more than once",
    "http.few_headers": "Fewer than four headers were sent",
    "http.host_unknown": "The proxy's host for this request is not one of the site's origins",
    "http.many_headers": "More than forty headers were sent",
    "http.order_mismatch": "The headers are not in the claimed browser's order",
    "http.plain_origin": "The request was sent without TLS. Browsers then omit Sec-Fetch and Sec-CH-UA",
    "http.unlike_browser": "The combination of headers does not match the claimed browser",
    "http.tls_mismatch": "The TLS fingerprint (JA4) does not match the claimed browser's engine",
    "http.unusual_method": "The method is unusual",
    "http.via": "A header shows that a proxy forwarded the request",
    "http.client_hints_headless": "Sec-CH-UA names a headless browser",
    "http.client_hints_mismatch": "Sec-CH-UA contradicts the User-Agent: brand, version, platform or mobile",
    "http.client_hints_missing": "The claimed browser sends Sec-CH-UA together with Sec-Fetch, but this"
    " request has only Sec-Fetch",
    "http.fetch_metadata_mismatch": "The Sec-Fetch headers contradict each other or have unknown values",
    "http.fetch_metadata_missing": "The claimed browser sends Sec-Fetch headers to secure sites, but this"
    " request has none",
}
RATE = {
    "rate.visitor.high": "At least 180 pages, forms and calls within a minute, without subresources, per"
    " clearance cookie or, without a "
    "cookie, per IP address",
    "rate.visitor.extreme": "At least 600 of the actions counted by rate.visitor.high within a minute",
    "rate.network.high": "At least 1,500 actions within a minute from the visitor's /24 or /64",
    "rate.network.extreme": "At least 6,000 actions within a minute from the visitor's /24 or /64",
    "rate.parts.high": "More subresources were loaded than the allowed pages can have",
}
AGENT = {
    "agent.verified": "The request has a valid signature of a known agent",
    "agent.invalid": "The request has an invalid signature",
    "agent.unverified": "The request is signed, but the key's owner could not be determined",
    "agent.claimed": "The User-Agent names a known AI agent or crawler, without proof",
    "agent.search_verified": "The User-Agent names a search engine crawler, and the IP address belongs to its operator",
    "agent.search_forged": "The User-Agent names a search engine crawler, but the IP address does not belong"
    " to its operator",
    "agent.search_unconfirmed": "The User-Agent names a search engine crawler, and the DNS verification is in progress",
    "agent.search_unknown": "The User-Agent names a search engine crawler, but the IP address could not be verified",
    "agent.operator_verified": "The User-Agent names an AI operator's program, and the IP address belongs to the"
    " operator",
    "agent.operator_forged": "The User-Agent names an AI operator's program, but the IP address does not belong to the"
    " operator",
    "agent.operator_unchecked": "The User-Agent names an AI operator's program. AgentGate has not read the operator's"
    " networks yet",
    "agent.operator.*": "The verified AI operator",
    "agent.use.*": "Use by a verified AI operator or agent: search, agent or training",
    "agent.named": "The site's agent policy has an entry for the verified agent or operator",
    "agent.program_verified": "The User-Agent names a preview, monitor, webhook or scanner service, and the IP"
    " address belongs to its operator",
    "agent.program_named": "The User-Agent names a feed reader, monitor, preview or checker within its shared"
    " rate limit",
    "agent.name.*": "The listed name that the User-Agent claims, in lower case",
    "agent.purpose.*": "The agent's purpose: training, search, fetch, dataset, ...",
}
AI = {
    "ai.allow": "The site's AI use or an entry of its agent policy allows this verified operator or agent",
    "ai.challenge": "The site's AI use challenges a use of this verified operator or agent",
    "ai.block": "The site's AI use blocks a use of this verified operator or agent",
}
# State -> label. Other states are left out, so that labels stay those of the catalog.
RECEIPT_STATES = {
    "missing": "The route requires a token or clearance cookie, and the request has neither",
    "valid": "The token is valid, not yet redeemed and for this site and action",
    "clearance": "The clearance cookie is valid and not expired",
    "clearance_low": "The clearance cookie was issued by the no-JavaScript fallback",
    "agent": "The token is an agent's receipt",
    "handoff": "The token is a receipt that a person approved for an agent",
    "browser": "The token was issued by a browser check",
    "invalid": "The token or clearance cookie is forged or malformed",
    "expired": "The token or clearance cookie has expired",
    "spent": "The token was already redeemed",
    "wrong_site": "The token or clearance cookie is for another site",
    "wrong_action": "The token is for another action",
    "wrong_origin": "The token is for another origin",
    "wrong_visitor": "The token or clearance cookie belongs to another visitor",
    "test": "The token is a test token",
}
RECEIPT = {f"receipt.{state}": meaning for state, meaning in RECEIPT_STATES.items()}
BROWSER = {
    "browser.evidence": "The browser check sent its evidence",
    "browser.no_evidence": "The browser check sent unreadable evidence",
    "browser.webdriver": "The browser reports that automation controls it",
    "browser.automation": "Automation artifacts were found in the page",
    "browser.headless": "The browser is headless",
    "browser.software_renderer": "Graphics are rendered in software, as on a server",
    "browser.no_languages": "The browser has no languages",
    "browser.no_plugins": "A desktop browser without its built-in plugins",
    "browser.no_screen": "The screen has no width or no height",
    "browser.no_window_frame": "The window has no outer size",
    "browser.window_mismatch": "The page fills the screen, and the window is larger or shows nothing around it",
    "browser.worker_mismatch": "Page and worker report different browsers",
    "browser.worker_missing": "A browser with workers sent no evidence from one; the page's policy may forbid workers",
    "browser.frame_mismatch": "The page and a new frame in it report different browsers",
    "browser.frame_missing": "The evidence lacks data from a new frame in the page",
    "browser.injected": "Functions that an automation driver added to the page, or a driver's script that"
    " called the SDK",
    "browser.incomplete": "The evidence lacks fields that the SDK sends from every browser",
    "browser.user_agent_mismatch": "The page and the request header have different User-Agents",
    "browser.language_mismatch": "The page's language is not in Accept-Language",
    "browser.platform_mismatch": "The page's platform does not match the User-Agent",
    "browser.touch_mismatch": "A mobile browser without a touch screen",
    "browser.patched": "Built-in functions of the browser were replaced",
    "browser.no_timezone": "The browser has no time zone",
    "browser.debugger": "A debugger is attached to the page",
    "browser.permission_mismatch": "The browser reports contradictory permissions",
    "browser.instrument_failed": "The instrumentation program of this challenge returned a wrong result",
}
PROBES = {
    "probes.right": "The probe results match a real browser engine",
    "probes.wrong": "The probe results do not match the claimed browser",
    "probes.missing": "A browser that supports probes sent no probe results",
    "probes.no_layout": "No result of the nested layout probes matches a real engine, or none was sent",
    "probes.unproven": "No evidence for or against a real engine: unknown or old version, or no probe could run",
    "probes.engine_mismatch": "The probe results match a different engine than the User-Agent's: Gecko instead"
    " of Blink, or the reverse",
}
BEHAVIOR = {
    "behavior.none": "No pointer, touch, key or scroll input; also with some assistive tools",
    "behavior.untrusted_events": "Events were created by a script, not by the browser",
    "behavior.click_only": "A click without any movement before it",
    "behavior.keyboard_only": "Keyboard input only, as with assistive tools",
    "behavior.too_fast": "Input was faster than humanly possible",
    "behavior.straight_pointer": "The pointer moved in a perfectly straight line",
    "behavior.uniform_timing": "The intervals between events are all equal",
}
INPUT = {
    "input.missing": "The input statistics that the SDK always sends are missing",
    "input.foreign_clock": "Input timestamps do not match X11's milliseconds; also with Chromium on Wayland",
    "input.between_pixels": "Fractional mouse positions on a system that has none",
    "input.adrift": "Screen positions of events do not match the window's position",
    "input.still_moves": "The pointer moved, but its events report no movement",
    "input.odd_pressure": "Mouse presses with a pressure that mice do not report",
    "input.ruled_path": "The pointer's strokes are straight lines",
    "input.even_path": "The steps of the pointer's strokes are equally long",
    "input.abrupt": "The pointer's strokes end in a press without slowing down",
    "input.codeless_keys": "Letters from keys without a key code, which every keyboard sends",
    "input.short_press": "Presses too short for a finger; also with taps on touchpads",
    "input.jump": "The pointer jumped to its target in one step; also with remote desktops and voice control",
    "input.centred": "Presses in the exact center of elements; also with voice control",
    "input.short_keys": "Key presses too short for a finger; also with password managers that type",
    "input.fast_keys": "Keys faster than human typing; also with password managers that type",
    "input.even_presses": "Mouse presses with equal durations",
    "input.even_keys": "Keys at equal intervals or with equal durations",
    "input.text_without_keys": "Text without input from keys, composition, clipboard or autofill; also with dictation",
    "input.untouched_text": "Text in a page without any user activation",
    "input.unled_focus": "Fields were focused without a press or key",
    "input.robotic": "At least three traits of presses and keys that are not human-like",
    "input.synthetic": "Input that does not match the device's clock and has another trait that devices do not have",
}
EVIDENCE = {
    "evidence.missing": "The evidence, or a field that the SDK always sends, is missing",
    "evidence.doubtful": "Two independent groups of evidence indicate a bot",
    "evidence.contradictory": "Three independent groups of evidence indicate a bot, and extensions or privacy"
    " tools do not explain one of them",
}
# No two people do exactly the same in a page. One computer at many addresses may be a company's laptops, and is
# harmless alone; where these addresses come once each and nobody ever touches anything, it is a farm.
CLUSTER_LABELS = {
    "cluster.evidence": "The input in the page is identical to input from other addresses: a replay",
    "cluster.timing": "The timing of keys and presses matches other networks: a replay, perhaps slightly changed",
    "cluster.ja4": "The same TLS fingerprint (JA4) comes from many addresses with User-Agents of different engines",
    "cluster.spent": "A cluster.evidence or cluster.timing cluster that passed too many interactive challenges"
    " within an hour",
    "cluster.shape": "The same device and headers come from many addresses and make up a large share of the"
    " site's checks",
    "privacy_pass.verified": "A private token from an issuer that the site trusts vouches for the device",
    "cluster.farm": "A cluster.shape cluster of many networks, with about one check per address and no input",
}
CONTENT = {
    "content.empty": "The content is blank",
    "content.long": "The content has more than 10,000 characters",
    "content.hidden_characters": "The content has invisible or direction-changing characters",
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
        AI,
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


def slug(name: str) -> str:
    """Write a name as one part of a label."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:64] or "unnamed"
