"""Programs that sites depend on: their requests and their networks. `README.md` lists the sources.

A row is the name, the User-Agent (None: none is sent), the path, and further headers. Addresses are of the networks
that the services publish or that their cloud has; nothing is sent there.
"""

# ruff: noqa: E501 - User-Agents are as long as they are

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tests.population.sent import Sent, Should
from tests.population.visitors import ORIGIN

_HOST = ORIGIN.partition("://")[2]
_HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_FEED = "application/rss+xml, application/atom+xml, application/xml;q=0.9, */*;q=0.8"
# Of clouds, hosters and the services themselves.
_AWS, _GOOGLE, _AZURE, _HOSTER, _HOME = "3.18.12.{}", "34.74.90.{}", "20.51.4.{}", "159.69.12.{}", "84.12.7.{}"


@dataclass(frozen=True, slots=True)
class Program:
    """A program that a site wants to hear from."""

    kind: str
    name: str
    user_agent: str | None
    path: str
    address: str = _AWS
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = (("Accept", "*/*"), ("Accept-Encoding", "gzip"))


def _certificates() -> Iterator[Program]:
    acme, pki = "/.well-known/acme-challenge/tok_3n-4xZ9", "/.well-known/pki-validation/fileauth.txt"
    lets_encrypt = "Mozilla/5.0 (compatible; Let's Encrypt validation server; +https://www.letsencrypt.org)"
    for name, agent, path in (
        ("Let's Encrypt", lets_encrypt, acme),
        ("ZeroSSL", "acme.zerossl.com/v2/DV90", acme),
        ("Google Trust Services", "Google-Trust-Services/1.0 (+https://pki.goog)", acme),
        ("Buypass", "Buypass-DCV/1.0", acme),
        ("SSL.com", "SSL.com DCV", acme),
        ("Sectigo", "Sectigo DCV/1.0 (Mozilla/5.0 compatible)", pki),
        ("DigiCert", "DigiCert DCV Bot/1.1", pki),
        ("GlobalSign", "GlobalSign-DCV", pki),
        ("Entrust", "Mozilla/4.0 (compatible; Entrust-DCV)", pki),
        ("GoDaddy", "GoDaddy-DCV/1.0", pki),
        ("Amazon Trust Services", "Amazon-DCV", pki),
        ("Actalis", "Java/17.0.9", acme),
        ("HARICA", "python-requests/2.31.0", pki),
        ("Certum", "Apache-HttpClient/4.5.14 (Java/11.0.20)", pki),
        ("SwissSign", "Go-http-client/1.1", acme),
        ("TWCA", None, pki),
    ):
        yield Program("certificates", name, agent, path)


def _standards() -> Iterator[Program]:
    for name, agent, path in (
        ("Googlebot", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "/robots.txt"),
        (
            "GPTBot",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.2; +https://openai.com/gptbot",
            "/robots.txt",
        ),
        ("AhrefsBot", "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)", "/robots.txt"),
        ("curl", "curl/8.9.1", "/robots.txt"),
        ("an unknown bot", "examplebot/0.1 (+https://example.org/bot)", "/sitemap.xml"),
        ("favicon service", "Mozilla/5.0 (compatible; FaviconService/1.0)", "/favicon.ico"),
        ("a password manager", "1Password/8 CFNetwork/1494 Darwin/23.4.0", "/.well-known/change-password"),
        ("security.txt", "Go-http-client/2.0", "/.well-known/security.txt"),
        (
            "Mastodon",
            "http.rb/5.1.1 (Mastodon/4.2.8; +https://mastodon.social/)",
            "/.well-known/webfinger?resource=acct%3Aa%40shop.example",
        ),
        (
            "Apple app links",
            "swcd (unknown version) CFNetwork/1494 Darwin/23.4.0",
            "/.well-known/apple-app-site-association",
        ),
        ("Android app links", "GoogleAssociationService", "/.well-known/assetlinks.json"),
        ("ads.txt", "Mozilla/5.0 (compatible; adstxt.com-crawler; +http://adstxt.com/crawler)", "/ads.txt"),
    ):
        yield Program("standards", name, agent, path)
    yield Program(
        "standards",
        "DAVx5",
        "DAVx5/4.3.13-ose (dav4jvm; okhttp/4.12.0) Android/14",
        "/.well-known/caldav",
        _HOME,
        "PROPFIND",
    )
    for name, agent, method, path in (
        ("DAVx5", "DAVx5/4.3.13-ose (dav4jvm; okhttp/4.12.0) Android/14", "PROPFIND", "/dav/calendars/ann/"),
        ("iOS calendar", "iOS/17.4 (21E219) dataaccessd/1.0", "REPORT", "/dav/calendars/ann/home/"),
        ("macOS calendar", "macOS/14.4 (23E214) CalendarAgent/1107", "PROPFIND", "/dav/principals/ann/"),
        (
            "Thunderbird",
            "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.5.0",
            "PROPFIND",
            "/dav/addressbooks/ann/",
        ),
        (
            "Nextcloud",
            "Mozilla/5.0 (Linux) mirall/3.14.3 (Nextcloud, debian)",
            "PROPFIND",
            "/remote.php/dav/files/ann/",
        ),
        ("Windows", "Microsoft-WebDAV-MiniRedir/10.0.19045", "OPTIONS", "/dav/files/"),
    ):
        depth = (
            ("Accept", "*/*"),
            ("Depth", "1"),
            ("Content-Type", "application/xml; charset=utf-8"),
            ("Authorization-Hint", "basic"),
        )
        yield Program("calendars and files", name, agent, path, _HOME, method, depth)


# Service, User-Agent, the header that proves it (empty: none), where its documentation tells sites to listen, content type.
_JSON, _URLENCODED = "application/json", "application/x-www-form-urlencoded"
WEBHOOKS = (
    ("Stripe", "Stripe/1.0 (+https://stripe.com/docs/webhooks)", "Stripe-Signature", "/webhooks/stripe", _JSON),
    ("Shopify", "Shopify-Captain-Hook", "X-Shopify-Hmac-Sha256", "/api/orders/create", _JSON),
    ("Mollie", "Mollie.com API webhook", "", "/payments/mollie/webhook", _URLENCODED),
    (
        "Svix",
        "Svix-Webhooks/1.45.0 (sender-9YMgn; +https://www.svix.com/http-sender/)",
        "Svix-Signature",
        "/hooks/svix",
        _JSON,
    ),
    ("Standard Webhooks", "Standard-Webhooks/1.0", "Webhook-Signature", "/incoming", _JSON),
    ("SendGrid", "SendGrid Event API", "X-Twilio-Email-Event-Webhook-Signature", "/sendgrid/events", _JSON),
    ("PayPal IPN", "PayPal IPN ( https://www.paypal.com/ipn )", "", "/ipn", _URLENCODED),
    ("PayPal", "PayPal/AUHR-214.0-58843279", "Paypal-Transmission-Sig", "/paypal/webhook", _JSON),
    ("GitHub", "GitHub-Hookshot/044aadd", "X-Hub-Signature-256", "/github-webhook/", _JSON),
    ("GitLab", "GitLab/17.3.0", "X-Gitlab-Token", "/hooks/gitlab", _JSON),
    ("Bitbucket", "Bitbucket-Webhooks/2.0", "X-Hub-Signature", "/bitbucket-hook/", _JSON),
    ("Gitea", "Go-http-client/1.1", "X-Gitea-Signature", "/hooks/deploy", _JSON),
    ("Slack", "Slackbot 1.0 (+https://api.slack.com/robots)", "X-Slack-Signature", "/slack/events", _JSON),
    ("Twilio", "TwilioProxy/1.1", "X-Twilio-Signature", "/sms/incoming", _URLENCODED),
    ("Square", "Square Connect v2", "X-Square-Hmacsha256-Signature", "/square/webhook", _JSON),
    ("Adyen", "Adyen HttpClient 1.0", "", "/adyen/notifications", _JSON),
    ("Klarna", "Klarna-Callback/1.0", "", "/klarna/callback", _JSON),
    ("Linear", "Linear-Webhook", "Linear-Signature", "/api/linear", _JSON),
    ("Zoom", "Zoom Marketplace/1.0a", "X-Zm-Signature", "/zoom/webhook", _JSON),
    ("Discord", "Discord-Interactions/1.0 (+https://discord.com)", "X-Signature-Ed25519", "/interactions", _JSON),
    ("LINE", "LineBotWebhook/2.0", "X-Line-Signature", "/line/callback", _JSON),
    ("QuickBooks", "intuit_notification_gateway", "Intuit-Signature", "/quickbooks/events", _JSON),
    ("WooCommerce", "WooCommerce/8.9.1 Hookshot (WordPress/6.5.3)", "X-WC-Webhook-Signature", "/wc-sync", _JSON),
    ("Typeform", "Typeform Webhooks", "Typeform-Signature", "/forms/typeform", _JSON),
    ("Calendly", "Calendly", "Calendly-Webhook-Signature", "/calendly/webhook", _JSON),
    ("HubSpot", "HubSpot Connect 2.0 (http://dev.hubspot.com/)", "X-HubSpot-Signature-v3", "/hubspot/events", _JSON),
    ("DocuSign", "DocuSign Connect", "X-DocuSign-Signature-1", "/docusign/listener", _JSON),
    ("Razorpay", "Razorpay-Webhook/v1", "X-Razorpay-Signature", "/razorpay", _JSON),
    ("Paddle", "Paddle", "Paddle-Signature", "/billing/paddle", _JSON),
    ("Paystack", "Paystack/2.0", "X-Paystack-Signature", "/paystack", _JSON),
    ("Plaid", "plaid-webhooks", "Plaid-Verification", "/bank/plaid", _JSON),
    ("Asana", "Asana/1.0", "X-Hook-Signature", "/asana/hook", _JSON),
    ("Sentry", "sentry/24.5.0 (https://sentry.io)", "Sentry-Hook-Signature", "/sentry", _JSON),
    ("PagerDuty", "PagerDuty-Webhook/V3.0", "X-PagerDuty-Signature", "/pagerduty", _JSON),
    ("Mailgun", "mailgun/treq-22.4.1", "", "/mailgun/webhook", _JSON),
    ("Postmark", "Postmark", "", "/postmark/webhook", _JSON),
    ("Telegram", None, "X-Telegram-Bot-Api-Secret-Token", "/telegram/webhook", _JSON),
    ("a self-made service", None, "", "/webhook", _JSON),
    (
        "Amazon SNS",
        "Amazon Simple Notification Service Agent",
        "X-Amz-Sns-Message-Type",
        "/sns",
        "text/plain; charset=UTF-8",
    ),
    ("Python", "python-requests/2.32.3", "X-Webhook-Signature", "/partner/sync", _JSON),
)


def _webhooks() -> Iterator[Program]:
    for name, agent, proof, path, content in WEBHOOKS:
        body = (("Content-Type", content), ("Content-Length", "911"), ("Accept", "*/*"))
        proofs = (
            ((proof, "t=1760000000,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd"),)
            if proof
            else ()
        )
        yield Program("webhooks", name, agent, path, _AWS, "POST", (*body, *proofs))


def _rows(kind: str, address: str, accept: str, rows: tuple[tuple[str, str, str], ...]) -> Iterator[Program]:
    for name, agent, path in rows:
        yield Program(
            kind, name, agent, path, address, headers=(("Accept", accept), ("Accept-Encoding", "gzip, deflate"))
        )


_MONITORS = (
    ("UptimeRobot", "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)", "/"),
    ("Pingdom", "Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)", "/"),
    ("StatusCake", "Mozilla/5.0 (compatible; StatusCake)", "/health"),
    (
        "Better Uptime",
        "Better Uptime Bot Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/89.0 Safari/537.36",
        "/",
    ),
    ("Site24x7", "Site24x7", "/"),
    ("Uptime Kuma", "Uptime-Kuma/1.23.13", "/"),
    ("HetrixTools", "HetrixTools Uptime Monitoring Bot. https://hetrix.tools/uptime-monitoring-bot.html", "/"),
    ("Freshping", "FreshpingBot/1.0 (+https://freshping.io/)", "/"),
    ("Datadog Synthetics", "Datadog/Synthetics", "/health"),
    ("New Relic", "NewRelicSynthetics/1.0", "/"),
    ("Zabbix", "Zabbix 7.0.0", "/"),
    ("Nagios", "check_http/v2.3.3 (nagios-plugins 2.3.3)", "/"),
    ("Prometheus", "Blackbox Exporter/0.25.0", "/"),
    ("kube-probe", "kube-probe/1.30", "/healthz"),
)
_FEEDS = (
    ("Feedly", "Feedly/1.0 (+http://www.feedly.com/fetcher.html; 42 subscribers; like FeedFetcher-Google)", "/feed/"),
    ("Inoreader", "Mozilla/5.0 (compatible; inoreader.com; 17 subscribers)", "/rss.xml"),
    ("NewsBlur", "NewsBlur Feed Fetcher - 12 subscribers - https://www.newsblur.com/site/1/", "/atom.xml"),
    ("Miniflux", "Mozilla/5.0 (compatible; Miniflux/2.1.3; +https://miniflux.app)", "/index.xml"),
    ("FreshRSS", "FreshRSS/1.24.1 (Linux; https://freshrss.org)", "/blog/feed/"),
    ("Tiny Tiny RSS", "Tiny Tiny RSS/24.06 (https://tt-rss.org/)", "/?feed=rss2"),
    ("NetNewsWire", "NetNewsWire (RSS Reader; https://netnewswire.com/)", "/feed.json"),
    ("Reeder", "Reeder/5040001 CFNetwork/1494.0.7 Darwin/23.4.0", "/feed.xml"),
    ("Feedbin", "Feedbin feed-id:1 - 8 subscribers", "/comments/feed/"),
    ("Thunderbird", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.5.0", "/news.rss"),
    ("an unknown reader", "MyFeedThing/0.3", "/feed"),
    ("Python feedparser", "feedparser/6.0.11 +https://github.com/kurtmckee/feedparser/", "/rss"),
)
_PODCASTS = (
    ("Apple Podcasts", "AppleCoreMedia/1.0.0.21E219 (iPhone; U; CPU OS 17_4 like Mac OS X; en_us)", "/episodes/12.mp3"),
    ("Overcast", "Overcast/3.0 (+http://overcast.fm/; iOS podcast app)", "/podcast.xml"),
    ("Pocket Casts", "PocketCasts/1.0 (Pocket Casts Feed Parser; +http://pocketcasts.com/)", "/podcast/feed"),
    ("AntennaPod", "AntennaPod/3.4.1", "/episodes/13.m4a"),
    ("Spotify", "Spotify/1.0", "/feed/podcast/"),
    ("gPodder", "gPodder/3.11.4 (http://gpodder.org/) Linux", "/podcast.xml"),
    ("Castro", "Castro 2024.5/1234", "/episodes/14.mp3"),
    ("Google Calendar", "Google-Calendar-Importer", "/events.ics"),
    ("Outlook", "Microsoft-Exchange/15.20 (Calendar)", "/calendar/team.ics"),
    ("Apple Calendar", "macOS/14.4 (23E214) CalendarAgent/1107", "/team.ics"),
)
_PREVIEWS = (
    ("Facebook", "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", "/products/7"),
    ("Slack", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "/products/7"),
    ("X", "Twitterbot/1.0", "/products/7"),
    (
        "LinkedIn",
        "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
        "/products/7",
    ),
    ("WhatsApp", "WhatsApp/2.23.20.0", "/products/7"),
    ("Telegram", "TelegramBot (like TwitterBot)", "/products/7"),
    ("Discord", "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)", "/products/7"),
    (
        "Skype",
        "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com",
        "/products/7",
    ),
    ("Pinterest", "Pinterest/0.2 (+https://www.pinterest.com/bot.html)", "/products/7"),
    ("Mastodon", "http.rb/5.1.1 (Mastodon/4.2.8; +https://mastodon.social/) Bot", "/products/7"),
    (
        "iMessage",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",
        "/products/7",
    ),
)
_TOOLS = (
    ("git", "git/2.45.2", "/repo.git/info/refs?service=git-upload-pack"),
    ("JGit", "JGit/6.9.0", "/repo.git/info/refs?service=git-upload-pack"),
    ("git-lfs", "git-lfs/3.5.1 (GitHub; linux amd64; go 1.22.3)", "/repo.git/info/lfs/locks"),
    (
        "pip",
        'pip/24.1 {"ci":null,"cpu":"x86_64","implementation":{"name":"CPython","version":"3.12.4"}}',
        "/simple/thing/",
    ),
    ("npm", "npm/10.8.1 node/v20.15.0 linux x64 workspaces/false", "/thing"),
    ("yarn", "yarn/1.22.22 npm/? node/v20.15.0 linux x64", "/thing"),
    ("apt", "Debian APT-HTTP/1.3 (2.6.1)", "/debian/dists/stable/InRelease"),
    ("dnf", "libdnf (Fedora Linux 40; generic; Linux.x86_64)", "/fedora/repodata/repomd.xml"),
    ("cargo", "cargo/1.79.0 (ffa9cf99a 2024-06-03)", "/index/th/in/thing"),
    ("composer", "Composer/2.7.7 (Linux; 6.1.0; PHP 8.3.8; cURL 8.8.0)", "/packages.json"),
    ("Maven", "Apache-Maven/3.9.8 (Java 21.0.3; Linux 6.1.0)", "/maven2/thing/maven-metadata.xml"),
    ("Go modules", "Go-http-client/2.0", "/example.org/thing/@v/v1.2.3.zip"),
    ("docker", "docker/26.1.4 go/go1.21.11 git-commit/de5c9cf kernel/6.1.0 os/linux arch/amd64", "/v2/"),
    ("Homebrew", "Homebrew/4.3.8 (Macintosh; arm64 Mac OS X 14.5) curl/8.6.0", "/bottle.tar.gz"),
)
_ACCESSIBILITY = (
    ("W3C validator", "W3C_Validator/1.3 http://validator.w3.org/services", "/"),
    ("W3C link checker", "W3C-checklink/4.81 libwww-perl/6.67", "/"),
    ("WAVE", "Mozilla/5.0 (compatible; WAVE/3.0; +https://wave.webaim.org)", "/"),
    (
        "Siteimprove",
        "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.1; Trident/6.0) SiteCheck-sitecrawl by Siteimprove.com",
        "/",
    ),
    (
        "Lighthouse",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36 Chrome-Lighthouse",
        "/",
    ),
)


def programs() -> tuple[Program, ...]:
    """Return every program."""
    return (
        *_certificates(),
        *_standards(),
        *_webhooks(),
        *_rows("uptime checks", _HOSTER, "*/*", _MONITORS),
        *_rows("feed readers", _AWS, _FEED, _FEEDS),
        *_rows("podcasts and calendars", _HOME, "*/*", _PODCASTS),
        *_rows("link previews", _GOOGLE, _HTML, _PREVIEWS),
        *_rows("git and packages", _AZURE, "*/*", _TOOLS),
        *_rows("checkers of pages", _GOOGLE, _HTML, _ACCESSIBILITY),
    )


def program_requests(seed: int, times: int = 3) -> Iterator[Sent]:
    """Yield what each program sends, several times."""
    chance = Random(f"{seed}:programs")
    for each in programs():
        address = each.address.format(chance.randrange(2, 250))
        for number in range(times):
            agent = () if each.user_agent is None else (("User-Agent", each.user_agent),)
            headers = [("Host", _HOST), *agent, *each.headers]
            at_ms = number * 60_000 + chance.randrange(50_000)
            yield Sent(each.kind, each.name, each.method, ORIGIN + each.path, headers, address, Should.PASS, at_ms)
