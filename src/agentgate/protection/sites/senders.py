"""Services that post to sites, by the names under which a path can be opened to them. Sources: docs/open-paths.md.

Networks are those that a service publishes for its webhooks, and says that it sends from no other. Of a service that
publishes none, the header in which it signs is all that can be known here.
"""

from msgspec import Struct


class Sender(Struct, frozen=True):
    """A service that posts to sites."""

    signatures: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()


_STRIPE = (
    *("3.18.12.63/32", "3.130.192.231/32", "13.235.14.237/32", "13.235.122.149/32", "18.211.135.69/32"),
    *("35.154.171.200/32", "52.15.183.38/32", "54.88.130.119/32", "54.88.130.237/32", "54.187.174.169/32"),
    *("54.187.205.235/32", "54.187.216.72/32"),
)
_GITHUB = (
    *("192.30.252.0/22", "185.199.108.0/22", "140.82.112.0/20", "143.55.64.0/20"),
    *("2a0a:a440::/29", "2606:50c0::/32"),
)
_PADDLE = (
    *("34.232.58.13/32", "34.195.105.136/32", "34.237.3.244/32"),
    *("35.155.119.135/32", "52.11.166.252/32", "34.212.5.7/32"),
)
_POSTMARK = ("3.134.147.250/32", "50.31.156.6/32", "50.31.156.77/32", "18.217.206.57/32")

SENDERS = {
    "adyen": Sender(signatures=("x-adyen-hmac-signature", "hmacsignature")),
    "asana": Sender(signatures=("x-hook-signature", "x-hook-secret")),
    "bitbucket": Sender(signatures=("x-hub-signature", "x-event-key")),
    "calendly": Sender(signatures=("calendly-webhook-signature",)),
    "checkout": Sender(signatures=("cko-signature",)),
    "coinbase": Sender(signatures=("x-cc-webhook-signature",)),
    "discord": Sender(signatures=("x-signature-ed25519",)),
    "docusign": Sender(signatures=("x-docusign-signature-1",)),
    "flutterwave": Sender(signatures=("verif-hash",)),
    "gitea": Sender(signatures=("x-gitea-signature", "x-forgejo-signature", "x-gogs-signature")),
    "github": Sender(signatures=("x-hub-signature-256",), networks=_GITHUB),
    "gitlab": Sender(signatures=("x-gitlab-token", "x-gitlab-event")),
    "hubspot": Sender(signatures=("x-hubspot-signature", "x-hubspot-signature-v3")),
    "intuit": Sender(signatures=("intuit-signature",)),
    "lemonsqueezy": Sender(signatures=("x-signature",)),
    "line": Sender(signatures=("x-line-signature",)),
    "linear": Sender(signatures=("linear-signature",)),
    "mandrill": Sender(signatures=("x-mandrill-signature",)),
    "mollie": Sender(signatures=("x-mollie-signature",)),
    "paddle": Sender(signatures=("paddle-signature",), networks=_PADDLE),
    "pagerduty": Sender(signatures=("x-pagerduty-signature",)),
    "paypal": Sender(signatures=("paypal-transmission-sig",)),
    "paystack": Sender(signatures=("x-paystack-signature",)),
    "plaid": Sender(signatures=("plaid-verification",)),
    "postmark": Sender(networks=_POSTMARK),
    "razorpay": Sender(signatures=("x-razorpay-signature",)),
    "sendgrid": Sender(signatures=("x-twilio-email-event-webhook-signature",)),
    "sentry": Sender(signatures=("sentry-hook-signature",)),
    "shopify": Sender(signatures=("x-shopify-hmac-sha256",)),
    "slack": Sender(signatures=("x-slack-signature",)),
    "square": Sender(signatures=("x-square-hmacsha256-signature",)),
    "stripe": Sender(signatures=("stripe-signature",), networks=_STRIPE),
    "svix": Sender(signatures=("svix-signature", "webhook-signature")),
    "telegram": Sender(networks=("149.154.160.0/20", "91.108.4.0/22")),
    "trello": Sender(signatures=("x-trello-webhook",)),
    "twilio": Sender(signatures=("x-twilio-signature",)),
    "typeform": Sender(signatures=("typeform-signature",)),
    "vercel": Sender(signatures=("x-vercel-signature",)),
    "woocommerce": Sender(signatures=("x-wc-webhook-signature",)),
    "xero": Sender(signatures=("x-xero-signature",)),
    "zendesk": Sender(signatures=("x-zendesk-webhook-signature",)),
    "zoom": Sender(signatures=("x-zm-signature",)),
}
