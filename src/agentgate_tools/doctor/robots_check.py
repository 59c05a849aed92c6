"""Check of robots.txt: does the site publish what the gateway decides about AI crawlers?"""

from agentgate.sites.rules.patterns.robots_rules import RobotsRules, RobotsVerdict
from agentgate_tools.doctor.asking import Asked, NoAnswer, Site
from agentgate_tools.doctor.checks import Installation
from agentgate_tools.doctor.findings import Finding, failed, passed, skipped, warned

CHECK = "robots-agree"
# Four of each purpose, of eight operators.
CRAWLERS = (
    *("GPTBot", "ClaudeBot", "CCBot", "meta-externalagent"),
    *("OAI-SearchBot", "Claude-SearchBot", "PerplexityBot", "DuckAssistBot"),
    *("ChatGPT-User", "Claude-User", "Perplexity-User", "Google-Agent"),
)
# Lines that have one value for all crawlers.
SIGNALS = ("content-signal", "content-usage", "license")
FIX = "Serve robots.txt from AgentGate's /v1/sites/SITE_KEY/robots.txt, or change `robotsTxt` and `aiUse` of the site."
NO_TERMS = "Add --terms with the address of AgentGate's robots.txt."


def check_robots(installation: Installation) -> Finding:
    """Compare the site's robots.txt with the terms that AgentGate publishes for the site."""
    if installation.terms is None:
        return skipped(CHECK, "the terms of the site are unknown", NO_TERMS)
    try:
        terms = installation.terms.ask("GET", installation.terms.path)
    except NoAnswer as silent:
        return failed(CHECK, f"the terms cannot be read: {silent}", "Correct the address given with --terms.")
    if terms.status != 200:
        return failed(CHECK, f"the terms cannot be read ({terms.status})", "Correct the address given with --terms.")
    closed = [name for name in CRAWLERS if not _is_readable(installation.site, name)]
    if closed:
        fix = "Include the managed group `standards` in the site's rules: crawlers must read robots.txt."
        return failed(CHECK, f"robots.txt is not served to {', '.join(closed)}", fix)
    served = installation.site.ask("GET", "/robots.txt")
    found = disagreements(_text(served), _text(terms), installation.site.path)
    if found:
        return warned(CHECK, "; ".join(found), FIX)
    return passed(CHECK, f"robots.txt and the gateway agree for {len(CRAWLERS)} crawlers")


def disagreements(served: str, terms: str, path: str) -> list[str]:
    """Return each difference between a site's file and the terms, in one phrase."""
    theirs, ours = RobotsRules(served).judge(path), RobotsRules(terms).judge(path)
    found = []
    for name in CRAWLERS:
        says, does = _may_read(theirs, name), _may_read(ours, name)
        if says != does:
            found.append(f"{name} is {_word(says)} by robots.txt and {_word(does)} by AgentGate")
    return found + [
        f"{name.title()} is {_values(served, name)} instead of {_values(terms, name)}"
        for name in SIGNALS
        if _values(served, name) != _values(terms, name)
    ]


def _is_readable(site: Site, crawler: str) -> bool:
    answer = site.try_asking("GET", "/robots.txt", ("User-Agent", f"Mozilla/5.0 (compatible; {crawler}/1.0)"))
    return answer is not None and answer.status == 200


def _may_read(verdict: RobotsVerdict | None, crawler: str) -> bool:
    return verdict is None or not verdict.disallows(crawler.lower(), is_closed=False)


def _values(text: str, name: str) -> str:
    lines = (line.partition("#")[0].partition(":") for line in text.splitlines())
    found = {"".join(value.lower().split()) for key, _, value in lines if key.strip().lower() == name}
    return ", ".join(sorted(found)) or "absent"


def _text(answer: Asked) -> str:
    return answer.body.decode("utf-8", "replace")


def _word(allowed: bool) -> str:  # noqa: FBT001 - the one thing that it says
    return "allowed" if allowed else "disallowed"
