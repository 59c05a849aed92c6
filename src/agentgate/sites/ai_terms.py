"""The terms that a site publishes for crawlers: robots.txt, RSL license and header lines, all from its AI use."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct, UnsetType

from agentgate.lib.enums import AiPurpose, AiUseChoice
from agentgate.sites.agent_policy import asked
from agentgate.sites.decoys import forbid_decoys
from agentgate.sites.price import Price
from agentgate.sites.records import Site, SiteAiUse
from agentgate.sites.rules.patterns.robots_rules import RobotsRules

_EMPTY = RobotsRules("")


class AiUse(Struct, frozen=True):
    """The choice for each purpose, and the price of those that are sold."""

    choices: Mapping[AiPurpose, AiUseChoice]
    price: Price | None

    def price_of(self, uses: Collection[AiPurpose]) -> Price | None:
        """Return the price of these uses; None if all are free."""
        return self.price if any(self.choices[use] is AiUseChoice.PRICE for use in uses) else None


def read_ai_use(stored: SiteAiUse | UnsetType) -> AiUse | None:
    """Return the setting; None before the owner has decided."""
    return None if isinstance(stored, UnsetType) else AiUse(stored.choices(), asked(stored.price))


def robots_of(site: Site) -> RobotsRules | None:
    """Return the rules of the site's robots.txt; None if the site has neither one, nor decoys, nor an AI use."""
    if site.decoys:
        return RobotsRules(forbid_decoys(site.robots_txt, site.id))
    if not site.robots_txt:
        return None if isinstance(site.ai_use, UnsetType) else _EMPTY
    return RobotsRules(site.robots_txt)


# Names of the purposes in Content-Signal, AIPREF (Content-Usage) and RSL.
SIGNALS = {AiPurpose.SEARCH: "search", AiPurpose.AGENT: "ai-input", AiPurpose.TRAINING: "ai-train"}
USAGES = {AiPurpose.SEARCH: "search", AiPurpose.TRAINING: "train-ai"}
CLOSED = frozenset((AiUseChoice.BLOCK, AiUseChoice.CHALLENGE))
RSL = "https://rslstandard.org/rsl"


class NamedCrawler(NamedTuple):
    """A crawler by the name that robots.txt uses, with its purpose."""

    token: str
    purpose: AiPurpose


def content_signal(use: AiUse) -> str:
    """Return the value of Content-Signal."""
    return ", ".join(f"{name}={_said(use, purpose, 'yes', 'no')}" for purpose, name in SIGNALS.items())


def content_usage(use: AiUse) -> str:
    """Return the value of Content-Usage (draft-ietf-aipref-attach)."""
    return ", ".join(f"{name}={_said(use, purpose, 'y', 'n')}" for purpose, name in USAGES.items())


def header_lines(use: AiUse, license_url: str) -> list[tuple[str, str]]:
    """Return the header lines that a site adds to its pages."""
    link = f'<{license_url}>; rel="license"; type="application/xml"'
    return [("Content-Usage", content_usage(use)), ("Link", link)]


def robots_txt(own: str, use: AiUse | None, crawlers: Iterable[NamedCrawler], license_url: str) -> str:
    """Return the owner's file and the block for the site's AI use.

    A crawler follows the groups of its name only, so the rules for `*` apply to the allowed crawlers.
    """
    own = own.rstrip("\n")
    if use is None:
        return f"{own}\n" if own else "User-agent: *\nAllow: /\n"
    closed = [each.token for each in crawlers if use.choices[each.purpose] in CLOSED]
    lines = [own, ""] if own else []
    lines += ["# AI use of this site", f"License: {license_url}", ""]
    lines += ["User-agent: *", f"Content-Signal: {content_signal(use)}", f"Content-Usage: {content_usage(use)}"]
    # Names that follow a group without a rule belong to it (RFC 9309): `Disallow: /` would apply to all crawlers.
    lines.append("Disallow:" if own else "Allow: /")
    if closed:
        lines += ["", *(f"User-agent: {token}" for token in closed), "Disallow: /"]
    return "\n".join(lines) + "\n"


def license_xml(origin: str, use: AiUse | None) -> str:
    """Return the license of a site (RSL 1.0): uses that are free, sold and prohibited."""
    choices = {} if use is None else use.choices
    free = [SIGNALS[each] for each, choice in choices.items() if choice is AiUseChoice.ALLOW]
    sold = [SIGNALS[each] for each, choice in choices.items() if choice is AiUseChoice.PRICE]
    closed = [SIGNALS[each] for each, choice in choices.items() if choice in CLOSED]
    parts = [_license(free, closed, '<payment type="free"/>')] if free or not sold else []
    if sold and use is not None and use.price is not None:
        currency, amount = use.price.text().split(" ")
        paid = f'<payment type="crawl"><amount currency={quoteattr(currency)}>{escape(amount)}</amount></payment>'
        parts.append(_license(sold, closed, paid))
    content = f"<content url={quoteattr(origin + '/')}>{''.join(parts)}</content>"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<rsl xmlns="{RSL}">{content}</rsl>\n'


def _license(permitted: list[str], prohibited: list[str], payment: str) -> str:
    permits = f'<permits type="usage">{" ".join(permitted)}</permits>' if permitted else ""
    prohibits = f'<prohibits type="usage">{" ".join(prohibited)}</prohibits>' if prohibited else ""
    return f"<license>{permits}{prohibits}{payment}</license>"


def _said(use: AiUse, purpose: AiPurpose, yes: str, no: str) -> str:
    return yes if use.choices[purpose] is AiUseChoice.ALLOW else no
