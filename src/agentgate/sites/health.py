"""A site's integration health: nine checks over the last 24 hours, each a function of counts.

A new check is a function and an entry in CHECKS.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from agentgate.events.health_records import FailedCheck, SiteHealth
from agentgate.lib import limits
from agentgate.lib.clock import HOUR_MS, to_rfc3339
from agentgate.lib.database import EventsUnavailable, Store, within_events_wait
from agentgate.lib.enums import HealthCheck, HealthSeverity, LoadState
from agentgate.lib.moment import Moment
from agentgate.sites.credentials.records import Credential
from agentgate.sites.private_tokens import directories_of
from agentgate.sites.records import SiteLoad, TokenIssuerStatus
from agentgate.sites.repository import HealthCounts, Sighting, SiteHealthStore, SiteStores
from agentgate.sites.token_issuers.directories import read_statuses

WINDOW_MS = 24 * HOUR_MS
ORIGINS_SHOWN = 10
# Of siteverify calls with an address: visitors roam, and a server that sends its proxy's address is always wrong.
LEAST_ADDRESSES, LEAST_MISMATCH_PERCENT = 20, 50


class HealthFacts(NamedTuple):
    """Inputs of the checks."""

    from_ms: int
    now_ms: int
    counts: HealthCounts
    credentials: Sequence[Credential]
    sighting: Sighting | None
    issuers: Sequence[TokenIssuerStatus] = ()
    load: SiteLoad | None = None
    # Until when the owner declared an attack.
    attack_ms: int = 0


def siteverify_missing(facts: HealthFacts) -> FailedCheck | None:
    """Report that the site's servers check hardly any of the issued tokens: anyone can invent one."""
    tokens, checks = facts.counts.tokens, server_checks(facts.counts)
    used = any(
        isinstance(credential.last_used_at, int) and credential.last_used_at >= facts.from_ms
        for credential in facts.credentials
    )
    detail = {"tokens": tokens, "serverChecks": checks}
    if tokens > 0 and checks == 0 and not used:
        return FailedCheck(
            check=HealthCheck.SITEVERIFY_MISSING,
            severity=HealthSeverity.CRITICAL,
            message=f"{tokens} tokens were issued and none was verified. "
            "Call POST /v1/siteverify from your backend, or check requests at your gateway.",
            detail=detail,
        )
    if tokens >= limits.SITEVERIFY_MISSING_LEAST_TOKENS and checks < tokens * limits.SITEVERIFY_MISSING_SHARE:
        return FailedCheck(
            check=HealthCheck.SITEVERIFY_MISSING,
            severity=HealthSeverity.WARNING,
            message=f"{tokens} tokens were issued, but servers checked only {checks} times. "
            "Validate the token on every protected request.",
            detail=detail,
        )
    return None


def no_credential(facts: HealthFacts) -> FailedCheck | None:
    """Without a credential that is accepted, the site's servers cannot check anything."""
    if any(credential.is_live(facts.now_ms) for credential in facts.credentials):
        return None
    return FailedCheck(
        check=HealthCheck.NO_CREDENTIAL,
        severity=HealthSeverity.CRITICAL,
        message="The site has no active credential. Create one and give its secret to your backend.",
        detail={"credentials": len(facts.credentials)},
    )


def siteverify_errors(facts: HealthFacts) -> FailedCheck | None:
    """Many validations fail: a wrong secret or action, tokens sent twice or too late."""
    codes = dict(facts.counts.siteverify_failures)
    failures = sum(codes.values())
    calls = failures + facts.counts.siteverify_success
    if failures < limits.SITEVERIFY_ERRORS_LEAST_FAILURES:
        return None
    if failures * 100 < calls * limits.SITEVERIFY_ERRORS_LEAST_PERCENT:
        return None
    worst = max(sorted(codes), key=lambda code: codes[code])
    return FailedCheck(
        check=HealthCheck.SITEVERIFY_ERRORS,
        severity=HealthSeverity.CRITICAL,
        message=f"{failures} of {calls} siteverify calls failed, most often with {worst}. "
        "Look that code up in the documentation and correct the call.",
        detail={"calls": calls, "failures": failures, "codes": dict(sorted(codes.items()))},
    )


def credential_unknown(facts: HealthFacts) -> FailedCheck | None:
    """An adapter for one of the site's origins has a wrong secret, so AgentGate is unavailable to it.

    A warning only: any client of the public listener can send such checks.
    """
    if not facts.counts.unknown_secrets:
        return None
    return FailedCheck(
        check=HealthCheck.CREDENTIAL_UNKNOWN,
        severity=HealthSeverity.WARNING,
        message=f"{facts.counts.unknown_secrets} gateway checks for the site's origins had an unknown or revoked "
        "secret. Put a live secret into the adapter. Until then, an open adapter allows all requests.",
        detail={"checks": facts.counts.unknown_secrets},
    )


def address_mismatch(facts: HealthFacts) -> FailedCheck | None:
    """Report that the server sends an address that visitors do not have, such as its proxy's address."""
    same, other = facts.counts.same_addresses, facts.counts.other_addresses
    calls = same + other
    if calls < LEAST_ADDRESSES or other * 100 < calls * LEAST_MISMATCH_PERCENT:
        return None
    percent = other * 100 // calls
    return FailedCheck(
        check=HealthCheck.ADDRESS_MISMATCH,
        severity=HealthSeverity.WARNING,
        message=f"Your server sends another address than visitors have: {percent}% mismatch in {calls} siteverify "
        "calls. Send the visitor's address in remoteAddress (remoteip), not the address of your proxy or CDN.",
        detail={"calls": calls, "mismatches": other},
    )


def origin_not_allowed(facts: HealthFacts) -> FailedCheck | None:
    """Origins that are not on the site's list: of pages with its key, and of hosts that the proxy routes to it.

    Either one is missing from the list, or the page or host belongs to someone else.
    """
    origins, hosts = facts.counts.refused_origins, facts.counts.unknown_hosts
    if not origins and not hosts:
        return None
    refused, routed = _most_frequent(origins), _most_frequent(hosts)
    sentences = []
    if refused:
        sentences.append(f"Pages of {len(origins)} unknown origins were rejected, most often {refused[0][0]}.")
    if routed:
        sentences.append(f"The proxy routes {len(hosts)} unknown hosts to the site, most often {routed[0][0]}.")
    return FailedCheck(
        check=HealthCheck.ORIGIN_NOT_ALLOWED,
        severity=HealthSeverity.WARNING,
        message=" ".join([*sentences, "Add the origins that are yours to allowedOrigins."]),
        detail={
            "refused": sum(origins.values()),
            "origins": [{"origin": origin, "count": count} for origin, count in refused],
            "hosts": [{"host": host, "count": count} for host, count in routed],
        },
    )


def _most_frequent(counted: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:ORIGINS_SHOWN]


def issuer_unavailable(facts: HealthFacts) -> FailedCheck | None:
    """Report issuers whose directory could not be read for a day: their private tokens have no effect, or soon none."""
    failed = [
        issuer
        for issuer in facts.issuers
        if isinstance(issuer.problem, str) and (not isinstance(issuer.read_at, int) or issuer.read_at < facts.from_ms)
    ]
    if not failed:
        return None
    return FailedCheck(
        check=HealthCheck.ISSUER_UNAVAILABLE,
        severity=HealthSeverity.WARNING,
        message=f"The keys of {failed[0].name} could not be read: {failed[0].problem}. "
        "Correct the issuer's name in privateTokenIssuers, or enter its tokenKey.",
        detail={"issuers": [{"name": issuer.name, "problem": issuer.problem} for issuer in failed]},
    )


def no_traffic(facts: HealthFacts) -> FailedCheck | None:
    """Report that a site with earlier traffic has none now."""
    if facts.sighting is None or facts.sighting.last_ms >= facts.from_ms:
        return None
    last = to_rfc3339(facts.sighting.last_ms)
    return FailedCheck(
        check=HealthCheck.NO_TRAFFIC,
        severity=HealthSeverity.WARNING,
        message=f"No requests in 24 hours. The last decision was at {last}. "
        "Look whether the widget or the gateway check was taken out.",
        detail={"lastSeenAt": last},
    )


def not_installed(facts: HealthFacts) -> FailedCheck | None:
    """A site that was never seen is still to be installed; it has no traffic to miss."""
    if facts.sighting is not None:
        return None
    return FailedCheck(
        check=HealthCheck.NOT_INSTALLED,
        severity=HealthSeverity.INFO,
        message="No decision has been made for this site yet. Add the widget or the gateway check; see agent-prompt.",
        detail={},
    )


def site_busy(facts: HealthFacts) -> FailedCheck | None:
    """Report that the site has far more page loads than usual, or that the owner declared an attack."""
    load = facts.load if facts.load is not None and facts.load.state is not LoadState.NORMAL else None
    sentences = []
    detail: dict[str, Any] = {}
    if load is not None:
        detail = {
            "state": load.state.value,
            "since": to_rfc3339(load.since),
            "pagesPerMinute": load.pages_per_minute,
            "usualPerMinute": load.usual_per_minute,
        }
        sentences.append(
            f"Far more page loads than usual since {detail['since']}: {load.pages_per_minute:,} a minute without a "
            f"clearance; usually {load.usual_per_minute:,}."
        )
    if facts.attack_ms > facts.now_ms:
        detail["underAttackUntil"] = to_rfc3339(facts.attack_ms)
        sentences.append(f"The site is declared under attack until {detail['underAttackUntil']}.")
    if not sentences:
        return None
    sentences.append("Compare the labels of these requests on Overview.")
    return FailedCheck(
        check=HealthCheck.SITE_BUSY, severity=HealthSeverity.WARNING, message=" ".join(sentences), detail=detail
    )


# In the order in which equally bad ones are shown.
CHECKS: tuple[Callable[[HealthFacts], FailedCheck | None], ...] = (
    siteverify_missing,
    no_credential,
    site_busy,
    siteverify_errors,
    credential_unknown,
    address_mismatch,
    origin_not_allowed,
    issuer_unavailable,
    no_traffic,
    not_installed,
)

# Checks that need no events, for the time in which none can be read.
CHECKS_WITHOUT_EVENTS = (no_credential, site_busy, issuer_unavailable)
_NOTHING_COUNTED = HealthCounts(
    tokens=0,
    server_checks=0,
    siteverify_success=0,
    siteverify_failures={},
    refused_origins={},
    unknown_hosts={},
    unknown_secrets=0,
)

# Worst first.
_ORDER = tuple(reversed(HealthSeverity))


class HealthReader:
    """Reads a site's health."""

    def __init__(self, store: Store[SiteStores], counts: SiteHealthStore, *, token_ms: int) -> None:
        self._store = store
        self._counts = counts
        # A younger token may still be on its way to the site's backend.
        self._token_ms = token_ms

    async def read(self, site_id: str, site_key: str, now_ms: int) -> SiteHealth:
        """Return the checks that fail now."""
        number = await self._store.read.sites.find_number(site_id)
        site = await self._store.read.sites.get_site(site_key, account_id=None)
        from_ms = now_ms - WINDOW_MS
        facts = HealthFacts(
            from_ms=from_ms,
            now_ms=now_ms,
            counts=_NOTHING_COUNTED,
            credentials=await self._store.read.credentials.list_credentials(site_id),
            sighting=None,
            issuers=await read_statuses(self._store.read, directories_of(site.private_token_issuers), now_ms),
            load=site.load if isinstance(site.load, SiteLoad) else None,
            attack_ms=site.under_attack_until if isinstance(site.under_attack_until, int) else 0,
        )
        try:
            counts, sighting = await within_events_wait(self._count(number, from_ms, now_ms))
        except EventsUnavailable:
            return health_of(site_key, facts, degraded=True)
        return health_of(site_key, facts._replace(counts=counts, sighting=sighting))

    async def _count(self, number: int, from_ms: int, now_ms: int) -> tuple[HealthCounts, Sighting | None]:
        tokens_to_ms = max(now_ms - self._token_ms, from_ms)
        counts = await self._counts.count_health(number, from_ms=from_ms, to_ms=now_ms, tokens_to_ms=tokens_to_ms)
        return counts, await self._counts.find_sighting(number)


def health_of(site_key: str, facts: HealthFacts, *, degraded: bool = False) -> SiteHealth:
    """Run all checks; while events are unavailable, those that need none."""
    checks = CHECKS_WITHOUT_EVENTS if degraded else CHECKS
    failed = [found for check in checks if (found := check(facts)) is not None]
    failed.sort(key=lambda found: _ORDER.index(found.severity))
    return SiteHealth(
        site_key=site_key,
        status=failed[0].severity if failed else HealthSeverity.OK,
        from_=Moment(facts.from_ms),
        to=Moment(facts.now_ms),
        checks=failed,
        degraded=degraded or UNSET,
    )


def server_checks(counts: HealthCounts) -> int:
    """Return how many tokens servers of the site checked. Calls of siteverify may be counted there only."""
    return max(counts.server_checks, counts.siteverify_success + sum(counts.siteverify_failures.values()))
