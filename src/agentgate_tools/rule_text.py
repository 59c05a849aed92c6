"""Formatting the text of a valid rule set: one order of keys, one form of each value, comments kept.

A comment on its own line belongs to the entry below it. An entry with a comment inside stays as it is written.
"""

import json
import re
from typing import Any

import yaml

from agentgate.sites.rules.effective import is_group
from agentgate.sites.rules.records import GROUP_KEYS, RULE_KEYS, SET_KEYS
from agentgate.sites.rules.text import read_text

LINE_CHARACTERS = 100
INDENT = 2
# Text that YAML 1.2 and 1.1 read as text without quotes.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./+-]*\Z")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"))


def formatted(text: str) -> str:
    """Return the formatted text of a valid set: JSON as JSON, YAML as YAML."""
    value = read_text(text).value
    if text.lstrip().startswith("{"):
        return json.dumps(_ordered_set(value), indent=INDENT, ensure_ascii=False) + "\n"
    return _formatted_yaml(text, value)


def _formatted_yaml(text: str, value: dict[str, Any]) -> str:
    lines = text.splitlines()
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(node, yaml.MappingNode), "a valid set is an object"
    parts: dict[str, str] = {}
    end = 0
    for key, content in node.value:
        above, end = _comments(lines, end, key.start_mark.line), _last_line(content) + 1
        if key.value == "rules" and isinstance(content, yaml.SequenceNode) and not content.flow_style:
            parts["rules"] = above + "rules:\n" + _rules(lines, content, value["rules"], key.start_mark.line + 1)
        else:
            parts[key.value] = above + f"{key.value}: {_flow(value[key.value])}\n"
    ordered = [*(key for key in SET_KEYS if key in parts), *(key for key in parts if key not in SET_KEYS)]
    return "".join(parts[key] for key in ordered) + _comments(lines, end, len(lines))


def _rules(lines: list[str], content: yaml.SequenceNode, items: list[dict[str, Any]], end: int) -> str:
    found = ""
    for node, item in zip(content.value, items, strict=True):
        found += _comments(lines, end, node.start_mark.line, indent=" " * INDENT)
        end = _last_line(node) + 1
        written = lines[node.start_mark.line : end]
        has_comment = any(token in line for line in written for token in (" #", "\t#")) or any(
            line.lstrip().startswith("#") for line in written
        )
        found += "\n".join(written) + "\n" if has_comment else _rule(item)
    return found


def _rule(item: dict[str, Any]) -> str:
    lines = [line for key, value in _ordered_rule(item).items() for line in _pair(key, value, LINE_CHARACTERS - 4)]
    return "".join(f"{'  - ' if number == 0 else '    '}{line}\n" for number, line in enumerate(lines))


def _pair(key: str, value: Any, room: int) -> list[str]:
    """Return a key with its value: on one line where there is room, else each part on a line."""
    line = f"{_flow(key)}: {_flow(value)}"
    if len(line) <= room or not isinstance(value, dict | list) or not value:
        return [line]
    if isinstance(value, list):
        return [f"{_flow(key)}:", *(f"  - {_flow(each)}" for each in value)]
    inner = [line for name, each in value.items() for line in _pair(name, each, room - INDENT)]
    return [f"{_flow(key)}:", *(f"  {line}" for line in inner)]


def _comments(lines: list[str], start: int, end: int, *, indent: str = "") -> str:
    own = [line.strip() for line in lines[start:end]]
    return "".join(f"{indent}{line}\n" if line else "\n" for line in own if line.startswith("#") or not line)


def _last_line(node: yaml.Node) -> int:
    """Return the last line with text of a node; a block ends at the start of the line below it."""
    last = node.end_mark.line if node.end_mark.column else node.end_mark.line - 1
    if isinstance(node, yaml.MappingNode) and node.value and not node.flow_style:
        return max(_last_line(node.value[-1][1]), node.start_mark.line)
    if isinstance(node, yaml.SequenceNode) and node.value and not node.flow_style:
        return _last_line(node.value[-1])
    return max(last, node.start_mark.line)


def _ordered_set(value: dict[str, Any]) -> dict[str, Any]:
    ordered = {key: value[key] for key in SET_KEYS if key in value} | value
    return {**ordered, "rules": [_ordered_rule(item) for item in value["rules"]]}


def _ordered_rule(item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in (GROUP_KEYS if is_group(item) else RULE_KEYS) if key in item} | item


def _flow(value: Any) -> str:
    """Return a value on one line, as YAML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.match(value) and value.lower() not in _WORDS:
        return value
    # JSON is YAML.
    return json.dumps(value, ensure_ascii=False)
