"""Webhooks: a POST by a program that signs what it sends. Only the site, which has the key, can check the signature."""

from agentgate.protection.signals.signal_input import Labels, Look

# Where each is documented: docs/traffic-outcomes.md.
SIGNATURES = frozenset(
    """stripe-signature x-shopify-hmac-sha256 svix-signature webhook-signature x-hub-signature x-hub-signature-256
    x-gitlab-token x-gitea-signature x-gogs-signature x-forgejo-signature x-slack-signature x-twilio-signature
    x-twilio-email-event-webhook-signature paypal-transmission-sig x-square-hmacsha256-signature x-square-signature
    linear-signature x-zm-signature x-signature-ed25519 x-line-signature intuit-signature x-wc-webhook-signature
    typeform-signature calendly-webhook-signature x-hubspot-signature x-hubspot-signature-v3 x-docusign-signature-1
    x-razorpay-signature paddle-signature x-paystack-signature verif-hash x-cc-webhook-signature plaid-verification
    x-hook-signature x-hook-secret x-trello-webhook x-xero-signature x-pusher-signature x-mandrill-signature
    sentry-hook-signature x-pagerduty-signature cko-signature x-mollie-signature x-bc-webhook-signature
    x-contentful-signature x-vercel-signature x-netlify-signature webhook-secret x-webhook-signature x-webhook-secret
    x-signature x-mailgun-signature x-postmark-signature x-adyen-hmac-signature hmacsignature x-klarna-signature
    x-goog-channel-token x-goog-channel-id x-atlassian-webhook-identifier x-event-key x-github-event x-gitlab-event
    x-datadog-signature x-amz-sns-message-type ce-signature x-lemonsqueezy-signature x-signature-sha256 x-fb-signature
    x-zendesk-webhook-signature x-clerk-signature x-auth0-signature x-telegram-bot-api-secret-token""".split()
)
# What a browser sends along, and a server that posts to another does not.
_BROWSERS = frozenset({"cookie", "origin", "sec-fetch-mode", "sec-fetch-dest", "accept-language", "referer"})


def webhook_labels(look: Look) -> Labels:
    """Return `http.webhook_signature`."""
    names = look.headers
    if look.facts.method != "POST" or SIGNATURES.isdisjoint(names) or not _BROWSERS.isdisjoint(names):
        return ()
    return ("http.webhook_signature",)
