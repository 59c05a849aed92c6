"""Package managers, programs that keep calendars and files in step, and checkers of pages: by the User-Agent."""

from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.decision.signals.words import WORDS
from agentgate.decision.threat_data.user_agent_tokens import WordSearch

CHECKERS = WordSearch(WORDS.checkers)
# Mail programs with a browser's engine: they show pages too, and with these methods they keep calendars in step.
MAIL_PROGRAMS = WordSearch((" thunderbird/", " betterbird/", " icedove/"))
SYNC_METHODS = frozenset({"PROPFIND", "PROPPATCH", "REPORT", "OPTIONS", "PUT", "DELETE", "MKCALENDAR", "MKCOL"})
# No longer text is looked through.
_LOOKED_AT = 512


def tool_labels(request: SignalInput) -> Labels:
    """Return `ua.sync_client` for a mail program that syncs calendars. Other sync clients are recognized by name
    alone."""
    if request.facts.method not in SYNC_METHODS or "ua.sync_client" in request.user_agent.labels:
        return ()
    return ("ua.sync_client",) if request.user_agent.is_mail_program else ()


def is_mail_program(lowered: str) -> bool:
    """Return whether a User-Agent in lower case names a mail program that shows pages too."""
    return MAIL_PROGRAMS.has_any(lowered[:_LOOKED_AT])


def tool_classes(lowered: str) -> Labels:
    """Return `ua.package_manager`, `ua.sync_client` or `ua.checker` of a User-Agent in lower case."""
    lowered = lowered[:_LOOKED_AT]
    if lowered.startswith(WORDS.package_managers):
        return ("ua.package_manager",)
    if lowered.startswith(WORDS.sync_clients):
        return ("ua.sync_client",)
    return ("ua.checker",) if CHECKERS.has_any(lowered) else ()
