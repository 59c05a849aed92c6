"""wantedPrograms: the programs that a site lets in, by one line in its settings. They are classes, or names."""

from agentgate.lib.errors import Refused
from agentgate.protection.signals.detectors.user_agent import slug

MOST_PROGRAMS = 50
MOST_CHARACTERS = 64
# What people call the classes -> the class.
CLASSES = {
    "feeds": "feed_reader",
    "podcasts": "feed_reader",
    "monitors": "uptime",
    "previews": "preview",
    "webhooks": "webhook",
}
# A site that wants all scanners or all driven browsers has misread the setting.
NEVER_WANTED = frozenset({"scanner", "headless", "automation"})


def canonical_programs(programs: list[str]) -> list[str]:
    """Return the words as signals compare them, each once; refuse what can be no class and no name."""
    if len(programs) > MOST_PROGRAMS:
        raise _invalid(f"wantedPrograms may have at most {MOST_PROGRAMS} entries.")
    return list(dict.fromkeys(_canonical(program) for program in programs))


def _canonical(program: str) -> str:
    word = slug(program)
    if word == "unnamed" or len(program) > MOST_CHARACTERS:
        raise _invalid(
            f"wantedPrograms: {program[:80]!r} is no name. Give one of {', '.join(CLASSES)}, or a program's name "
            f"such as UptimeRobot, of at most {MOST_CHARACTERS} characters."
        )
    word = CLASSES.get(word, word)
    if word in NEVER_WANTED:
        raise _invalid(f"wantedPrograms: {program!r} would let in every {word}; name the one program that you want.")
    return word


def _invalid(message: str) -> Refused:
    return Refused("invalid_site", message)
