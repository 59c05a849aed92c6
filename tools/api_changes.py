# ruff: noqa: INP001, T201 - a script outside of the package
"""API changes that would break a client of the last release. `api_changes.py --release` stores the present APIs.

Breaking changes: a route, a response or a field of a response is removed or has another type; a request must contain
more, or may contain less, than before. Additions do not break clients.
"""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCUMENTS = ROOT / "docs" / "openapi"
RELEASED = ROOT / "tools" / "released_apis.json.gz"
_METHODS = ("get", "put", "post", "patch", "delete")

Schema = dict[str, Any]


def breaking_changes(before: Schema, after: Schema) -> list[str]:
    """Return a line for each change between two documents that breaks a client."""
    return list(_Comparison(before, after).lines())


def present() -> dict[str, Schema]:
    """Return the documents of this checkout by name."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(DOCUMENTS.glob("*.json"))}


def released() -> dict[str, Schema]:
    """Return the documents of the last release by name."""
    found: dict[str, Schema] = json.loads(gzip.decompress(RELEASED.read_bytes()))
    return found


class _Comparison:
    def __init__(self, before: Schema, after: Schema) -> None:
        self._before = before
        self._after = after

    def lines(self) -> Iterator[str]:
        for path, methods in self._before["paths"].items():
            for method in (each for each in _METHODS if each in methods):
                name = f"{method.upper()} {path}"
                now = self._after["paths"].get(path, {}).get(method)
                if now is None:
                    yield f"{name}: is gone"
                    continue
                yield from (f"{name}: {line}" for line in self._operation(methods[method], now))

    def _operation(self, before: Schema, after: Schema) -> Iterator[str]:
        known = {(each["name"], each["in"]): each for each in before.get("parameters", ())}
        now = {(each["name"], each["in"]): each for each in after.get("parameters", ())}
        for key, each in now.items():
            if each.get("required") and not known.get(key, {}).get("required"):
                yield f"parameter {key[0]} must be sent now"
        yield from (f"parameter {key[0]} is not taken any more" for key in known if key not in now)
        sent, taken = _body(before.get("requestBody")), _body(after.get("requestBody"))
        if sent is not None and taken is not None:
            yield from self._compare(sent, taken, "request", answer=False, above=())
        for status, reply in before["responses"].items():
            if not status.startswith("2"):
                continue
            if status not in after["responses"]:
                yield f"answer {status} is gone"
                continue
            told, tells = _body(reply), _body(after["responses"][status])
            if told is not None and tells is not None:
                yield from self._compare(told, tells, f"answer {status}", answer=True, above=())

    def _compare(
        self, before: Schema, after: Schema, place: str, *, answer: bool, above: tuple[str, ...]
    ) -> Iterator[str]:
        name = str(before.get("$ref", ""))
        # The comparison of a record that contains itself would never end.
        if name and name in above:
            return
        before, after = _resolve(before, self._before), _resolve(after, self._after)
        above = (*above, name)
        if "type" in before and "type" in after and before["type"] != after["type"]:
            yield f"{place}: was {before['type']}, is {after['type']}"
            return
        if not answer and "enum" in before and "enum" in after:
            yield from (
                f"{place}: {value!r} is not taken any more" for value in before["enum"] if value not in after["enum"]
            )
        yield from self._properties(before, after, place, answer=answer, above=above)
        for key in ("items", "additionalProperties"):
            if isinstance(before.get(key), dict) and isinstance(after.get(key), dict):
                yield from self._compare(before[key], after[key], f"{place}[]", answer=answer, above=above)

    def _properties(
        self, before: Schema, after: Schema, place: str, *, answer: bool, above: tuple[str, ...]
    ) -> Iterator[str]:
        known, now = before.get("properties", {}), after.get("properties", {})
        if not known or not now:
            return
        for name in known:
            if name not in now:
                yield f"{place}: {name} is gone"
            else:
                yield from self._compare(known[name], now[name], f"{place}.{name}", answer=answer, above=above)
        was, needed = set(before.get("required", ())), set(after.get("required", ()))
        if answer:
            yield from (f"{place}: {name} may be missing now" for name in sorted((was - needed) & now.keys()))
        else:
            yield from (f"{place}: {name} must be sent now" for name in sorted(needed - was))


def _body(holder: Schema | None) -> Schema | None:
    content = (holder or {}).get("content", {})
    found: Schema | None = content.get("application/json", {}).get("schema")
    return found


def _resolve(schema: Schema, document: Schema) -> Schema:
    name = str(schema.get("$ref", "")).removeprefix("#/components/schemas/")
    found: Schema = document["components"]["schemas"].get(name, {}) if name else schema
    return found


def main(arguments: list[str]) -> int:
    """Compare, or store the present documents as the documents of a release."""
    if arguments == ["--release"]:
        text = json.dumps(present(), separators=(",", ":"), sort_keys=True)
        RELEASED.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        return 0
    now = present()
    found = [f"{name}: {line}" for name, before in released().items() for line in breaking_changes(before, now[name])]
    print("\n".join(found) or "no client of the last release breaks")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
