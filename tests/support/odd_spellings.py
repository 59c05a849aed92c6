"""Odd spellings of a route, at random: what attackers of route matching have sent."""

from random import Random

WORDS = ("pay", "admin", "users", "tasks", "items", "kiss", "api", "v1", "login", "checkout", "7", "my-file", "a_b")
IGNORED = ("\xad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\ufe0f", "\u034f")
ALIKE = {"s": "\u017f", "k": "\u212a", "i": "\u0131"}
BEFORE = (
    *("/", "/", "/", "/", "//", "///", "/./", "/x/../", "//x/", "///x/", "/\\x/", "//u@x/", "//x:80/", "//[::1]/"),
    *("//%78/", "/%2e/", "/%2e%2e/", "/x/%2e%2e/", "/%e9/../", "/;/", "/;a=b/", "/..;/", "/x;y/../", "/%2f", "/.//"),
    *(
        "/%5c",
        "\\",
        "/x%2f..%2f",
        "/%252e%252e/",
        "/%00/../",
        "/%ff/../",
        "/%c0%ae%c0%ae/",
        "/x/%u002e%u002e/",
        "/?/../",
    ),
)
BETWEEN = (
    *("/", "/", "/", "/", "//", "/./", "/x/../", "\\", "%2f", "%2F", "%5c", "%252f", ";a/", ";a=b;c/", "/;/", "///"),
    *("%c0%af", "%u002f", "/%2e/", "%2f.%2f", "/x%2f../", ";/", "%09/", "/%e9/../", "%ef%bc%8f"),
)
AFTER = (
    *(
        "",
        "",
        "",
        "/",
        "//",
        "/.",
        "/./",
        "/x/..",
        "/x/../",
        ";",
        ";a=b",
        ";a=b/..",
        ";%ff",
        ";/../x",
        ".",
        "...",
        "%20",
    ),
    *(
        "%00",
        "%00.png",
        "%0a",
        "%09",
        "%20/",
        "%2f",
        "%5c",
        "\\",
        "?",
        "?x=1",
        "??",
        "%3f",
        "%3fx=1",
        "#",
        "#x",
        "%23x",
    ),
    *("%ff", "%85", "%a0", "%c2%a0", "::$DATA", "%", "%zz", "%u", "/%2e", "%2e", "/%2e%2e/x/..", "/x/%2e%2e", "%c2%ad"),
    *("%25", "%2500", "%c0%80", "+", "%20.", ".%20", "&", "%26", "|", ",", "%e2%80%8b", "%3b", "%3ba=b", "?/../x"),
)


def escaped(character: str) -> str:
    """Return the character as percent escapes of its UTF-8."""
    return "".join(f"%{byte:02x}" for byte in character.encode())


def _overlong_2(character: str) -> str:
    code = ord(character)
    return f"%{0xC0 | code >> 6:02x}%{0x80 | code & 0x3F:02x}"


def _overlong_3(character: str) -> str:
    code = ord(character)
    return f"%e0%{0x80 | code >> 6:02X}%{0x80 | code & 0x3F:02X}"


def _wide(character: str) -> str:
    return chr(ord(character) + 0xFEE0)


SPELLINGS = (
    *(str.upper, escaped, lambda each: escaped(each.upper()), lambda each: escaped(each).upper()),
    *(lambda each: escaped(each).replace("%", "%25"), lambda each: escaped(each).replace("%", "%2525")),
    *(lambda each: f"%u{ord(each):04x}", lambda each: f"%U{ord(each):04X}", _overlong_2, _overlong_3),
    *(lambda each: f"%25u{ord(each):04x}", lambda each: "".join(escaped(part) for part in escaped(each))),
    *(
        lambda each: escaped(_wide(each)),
        _wide,
        lambda each: escaped(ALIKE.get(each, each)),
        lambda each: ALIKE.get(each, each),
    ),
)


def random_route(random: Random) -> str:
    """Return the path of a route."""
    return "/" + "/".join(random.choices(WORDS, k=random.choice((1, 1, 2))))


def odd_spelling(random: Random, route: str) -> bytes:
    """Return a target that some server may read as the route."""
    first, *rest = (_spelled(random, segment) for segment in route[1:].split("/"))
    text = random.choice(BEFORE) + first + "".join(random.choice(BETWEEN) + segment for segment in rest)
    return (text + random.choice(AFTER)).encode()


def _spelled(random: Random, segment: str) -> str:
    characters = list(segment)
    for place in random.sample(range(len(segment)), min(len(segment), random.choice((0, 0, 0, 1, 1, 2, len(segment))))):
        characters[place] = random.choice(SPELLINGS)(characters[place])
    if random.random() < 0.1:
        ignored = random.choice((*IGNORED, "\0", "\t", "\x7f"))
        characters.insert(random.randint(0, len(segment)), random.choice((escaped(ignored), ignored)))
    return "".join(characters)
