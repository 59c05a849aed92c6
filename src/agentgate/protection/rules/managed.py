"""Managed groups: rules that come with the service, one file for each version in `managed/`.

A version never changes: whoever refers to it relies on its digest.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import msgspec

from agentgate.protection.rules.records import ManagedGroup

DIGEST_CHARACTERS = 16

GroupKey = tuple[str, int]


@cache
def managed_groups() -> Mapping[GroupKey, ManagedGroup]:
    """Return every version of every group, by name and version."""
    files = resources.files("agentgate.protection.rules").joinpath("managed").iterdir()
    groups = [_read(json.loads(file.read_text("utf-8"))) for file in files if file.name.endswith(".json")]
    return MappingProxyType({(group.name, group.version): group for group in sorted(groups, key=_order)})


def group_versions(name: str) -> list[int]:
    """Return the versions of a group; none when there is no such group."""
    return [version for group, version in managed_groups() if group == name]


def canonical_json(value: Any) -> str:
    """Return the one way of writing a value: sorted keys, no spaces, text as it is."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def members_digest(members: list[dict[str, Any]]) -> str:
    """Return what identifies the members of a version."""
    return hashlib.sha256(canonical_json(members).encode()).hexdigest()[:DIGEST_CHARACTERS]


def _read(document: dict[str, Any]) -> ManagedGroup:
    return msgspec.convert({**document, "digest": members_digest(document["rules"])}, ManagedGroup)


def _order(group: ManagedGroup) -> GroupKey:
    return group.name, group.version
