"""Conditions of Anubis policies as conditions of rules: alternatives of matches, or the reason why there are none.

An expression becomes an OR of ANDs of simple conditions. If no rule is equivalent, an `ALLOW` is not converted,
because a rule that allows more than the policy would be a hole. Other actions may cover more.
"""

import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

MOST_ALTERNATIVES = 300
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<number>-?\d+)|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<sign>&&|\|\||==|!=|[!()\[\].,]))"""
)
_SUBJECTS = {
    "userAgent": "user_agents",
    "path": "paths",
    "method": "methods",
    "host": "hosts",
    "remoteAddress": "networks",
}


class UnconvertibleError(Exception):
    """A condition that no rule can express; the text is the reason."""


class Term(NamedTuple):
    """One condition: its key, the header or parameter, the globs of which one must match, and whether it is negated."""

    key: str
    name: str
    globs: tuple[str, ...]
    negated: bool = False


# All terms of one of the alternatives must hold.
Alternatives = list[tuple[Term, ...]]


def read_globs(pattern: str, *, strict: bool) -> tuple[str, ...]:
    """Return globs for a regular expression. With `strict`, they match no more than it does, but for case."""
    try:
        parsed = list(parser.parse(pattern))
    except (re.error, OverflowError, RecursionError):
        raise UnconvertibleError(f"the regular expression {pattern[:60]} is not understood") from None
    found = {re.sub(r"\*+", "*", text) if "\\" not in text else text for text in _texts(parsed, strict=strict)}
    return tuple(sorted({_anchor(text) for text in found}))


_START, _END = "\ue000", "\ue001"
_ANCHORS = {
    sre.AT_BEGINNING: [_START],
    sre.AT_BEGINNING_STRING: [_START],
    sre.AT_END: [_END],
    sre.AT_END_STRING: [_END],
}


def _anchor(text: str) -> str:
    before, after = ("" if text.startswith(_START) else "*"), ("" if text.endswith(_END) else "*")
    text = text.replace(_START, "").replace(_END, "")
    return f"{before if not text.startswith('*') else ''}{text}{after if not text.endswith('*') else ''}"


def _texts(parsed: Iterable[tuple[Any, Any]], *, strict: bool) -> list[str]:
    found = [""]
    for code, value in parsed:
        part = list(dict.fromkeys(_part(code, value, strict=strict)))
        found = [before + after for before, after in product(found, part)]
        if len(found) > MOST_ALTERNATIVES:
            raise UnconvertibleError("a regular expression has too many alternatives")
    return found


def _part(code: Any, value: Any, *, strict: bool) -> list[str]:
    """Return the texts of one part of a regular expression."""
    found: list[str] = []
    if code is sre.LITERAL:
        found = ["\\" + chr(value) if chr(value) in "*\\" else chr(value)]
    elif code is sre.AT:
        found = _ANCHORS.get(value, [])
    elif code is sre.SUBPATTERN:
        found = _texts(value[3], strict=strict)
    elif code is sre.BRANCH:
        found = [text for branch in value[1] for text in _texts(branch, strict=strict)]
    elif code is sre.IN and all(each is sre.LITERAL for each, _ in value):
        found = [text for each in value for text in _part(*each, strict=strict)]
    elif code in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        found = _repeated(*value, strict=strict)
    elif code is sre.ANY and strict:
        # Narrower than any letter, and what a dot in a name means.
        found = ["."]
    if not found and strict:
        raise UnconvertibleError("a glob would match more than its regular expression")
    return found or ["*"]


def _repeated(least: int, most: Any, repeated: Any, *, strict: bool) -> list[str]:
    if [each for each, _ in repeated] == [sre.ANY] and most == sre.MAXREPEAT:
        # `.+` too: what follows a name without a character between is the same client.
        return ["*"]
    return ["", *_texts(repeated, strict=strict)] if (least, most) == (0, 1) else []


def read_expression(text: str, *, strict: bool) -> Alternatives:
    """Return the alternatives of an expression in the language of Anubis (CEL)."""
    tokens, place = [], 0
    text = text.strip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise UnconvertibleError(f"the expression is not understood at {text[place : place + 30]}")
        tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
        place = found.end()
    reader = _Reader(tokens, strict=strict)
    alternatives = reader.any_of(negated=False)
    if reader.rest:
        raise UnconvertibleError(f"the expression is not understood at {reader.rest[0][1]}")
    return alternatives


class _Reader:
    """Reads `||`, `&&`, `!`, parentheses and comparisons."""

    def __init__(self, tokens: list[tuple[str, str]], *, strict: bool) -> None:
        self.rest = tokens
        self._strict = strict

    def any_of(self, *, negated: bool) -> Alternatives:
        parts = [self._all_of(negated=negated)]
        while self._skip("||"):
            parts.append(self._all_of(negated=negated))
        return conjunction(parts) if negated else disjunction(parts)

    def _all_of(self, *, negated: bool) -> Alternatives:
        parts = [self._one(negated=negated)]
        while self._skip("&&"):
            parts.append(self._one(negated=negated))
        return disjunction(parts) if negated else conjunction(parts)

    def _one(self, *, negated: bool) -> Alternatives:
        if self._skip("!"):
            return self._one(negated=not negated)
        if self._skip("("):
            found = self.any_of(negated=negated)
            self._expect(")")
            return found
        term = self._comparison(strict=self._strict is not negated)
        return [(term._replace(negated=term.negated is not negated),)]

    def _comparison(self, *, strict: bool) -> Term:
        kind, value = self._take()
        if kind == "text":
            self._expect("in")
            return Term(self._field(self._take()[1]), _text(value), ("*",))
        if value == "verifyFCrDNS":
            raise UnconvertibleError("names of addresses have no condition; the group low-harm-clients uses DNS")
        if value in ("headers", "query"):
            self._expect("[")
            key, name = self._field(value), _text(self._take()[1])
            self._expect("]")
        elif value in _SUBJECTS:
            key, name = _SUBJECTS[value], ""
        else:
            raise UnconvertibleError(f"{value} has no condition")
        return self._compared(key, name, strict=strict)

    def _compared(self, key: str, name: str, *, strict: bool) -> Term:
        if self._skip("=="):
            return Term(key, name, self._exactly(key, self._take()))
        if self._skip("!="):
            return Term(key, name, self._exactly(key, self._take()), negated=True)
        self._expect(".")
        method = self._take()[1]
        self._expect("(")
        text = _text(self._take()[1])
        self._expect(")")
        if key in ("networks", "methods"):
            raise UnconvertibleError(f"{method} of {key} has no condition")
        if method == "matches":
            return Term(key, name, read_globs(text, strict=strict))
        form = {"contains": "*{}*", "startsWith": "{}*", "endsWith": "*{}"}.get(method)
        if form is None:
            raise UnconvertibleError(f"{method} has no condition")
        return Term(key, name, (form.format(_escaped(text)),))

    def _exactly(self, key: str, token: tuple[str, str]) -> tuple[str, ...]:
        text = _text(token[1])
        if not text:
            raise UnconvertibleError("an empty value has no condition")
        return (text,) if key in ("networks", "methods") else (_escaped(text),)

    def _field(self, word: str) -> str:
        if word not in ("headers", "query"):
            raise UnconvertibleError(f"{word} has no condition")
        return word

    def _take(self) -> tuple[str, str]:
        if not self.rest:
            raise UnconvertibleError("the expression ends too early")
        return self.rest.pop(0)

    def _skip(self, sign: str) -> bool:
        if self.rest and self.rest[0] == ("sign", sign):
            self.rest.pop(0)
            return True
        return False

    def _expect(self, word: str) -> None:
        if self._take()[1] != word:
            raise UnconvertibleError(f"the expression has no {word} where one is expected")


def _text(token: str) -> str:
    if token[:1] not in "\"'":
        raise UnconvertibleError(f"{token} is not a text")
    return re.sub(r"\\(.)", r"\1", token[1:-1])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("*", "\\*")


def disjunction(parts: Iterable[Alternatives]) -> Alternatives:
    """Return the alternatives of which one must hold. Globs of the same subject become one list."""
    merged: dict[tuple[str, str, bool], Term] = {}
    others: Alternatives = []
    for alternative in (each for part in parts for each in part):
        term = alternative[0]
        if len(alternative) > 1 or term.negated:
            others.append(alternative)
            continue
        key = (term.key, term.name, term.negated)
        known = merged.get(key)
        merged[key] = term if known is None else term._replace(globs=tuple(dict.fromkeys(known.globs + term.globs)))
    return _bounded([*((term,) for term in merged.values()), *others])


def conjunction(parts: Iterable[Alternatives]) -> Alternatives:
    found: Alternatives = [()]
    for part in parts:
        found = _bounded([before + after for before, after in product(found, part)])
    return found


def exclusive(alternatives: Alternatives) -> Alternatives:
    """Return alternatives of which only one holds at a time, for rules that add to a weight."""
    found: Alternatives = []
    for place, alternative in enumerate(alternatives):
        before = [_negated(earlier) for earlier in alternatives[:place]]
        found += conjunction([[alternative], *before])
    return _bounded(found)


def _negated(terms: Iterable[Term]) -> Alternatives:
    return [(term._replace(negated=not term.negated),) for term in terms]


def _bounded(alternatives: Alternatives) -> Alternatives:
    if len(alternatives) > MOST_ALTERNATIVES:
        raise UnconvertibleError("it has too many alternatives")
    return alternatives


def match_of(terms: Iterable[Term]) -> dict[str, Any] | None:
    """Return the match in which all terms hold; None if they never do."""
    match: dict[str, Any] = {}
    for (key, name, negated), same in _by_subject(terms).items():
        globs = tuple(dict.fromkeys(glob for each in same for glob in each)) if negated else _all(same)
        where = match.setdefault(f"{'not_' * negated}{key}", {}) if name else match
        where[name or f"{'not_' * negated}{key}"] = list(globs)
    for key in ("headers", "query"):
        if any("*" in globs and name in match.get(key, {}) for name, globs in match.get(f"not_{key}", {}).items()):
            return None
    return match


def _by_subject(terms: Iterable[Term]) -> Mapping[tuple[str, str, bool], list[tuple[str, ...]]]:
    found: dict[tuple[str, str, bool], list[tuple[str, ...]]] = {}
    for term in terms:
        found.setdefault((term.key, term.name, term.negated), []).append(term.globs)
    return found


def _all(lists: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return globs that match where one of each list does."""
    narrow = [each for each in lists if "*" not in each] or lists[:1]
    found = narrow[0]
    for each in narrow[1:]:
        found = tuple(glob for one, other in product(found, each) for glob in _both(one, other))
    if len(narrow) > 1 and len(found) > MOST_ALTERNATIVES:
        raise UnconvertibleError("it has too many alternatives")
    return tuple(dict.fromkeys(found))


def _both(one: str, other: str) -> Iterator[str]:
    """Yield globs for a text that fits both; two parts may come in either order."""
    if one == other:
        yield one
        return
    open_end, open_start = one.endswith("*"), other.startswith("*")
    if not (one.endswith("*") and other.startswith("*")) and not (other.endswith("*") and one.startswith("*")):
        raise UnconvertibleError(f"{one} and {other} exclude each other")
    if open_end and open_start:
        yield one + other[1:]
    if other.endswith("*") and one.startswith("*"):
        yield other + one[1:]
