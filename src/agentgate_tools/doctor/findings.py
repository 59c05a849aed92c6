"""Findings: what was looked at, how it is, and in one sentence what would mend it."""

from enum import StrEnum

from msgspec import Struct


class State(StrEnum):
    """How something is."""

    PASS = "pass"  # noqa: S105 - no password
    WARN = "warn"
    FAIL = "fail"
    # It could not be looked at with what was given.
    SKIP = "skip"


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    check: str
    state: State
    found: str
    # What to do about it; empty where all is well.
    fix: str = ""


def passed(check: str, found: str) -> Finding:
    """Say that something is as it should be."""
    return Finding(check=check, state=State.PASS, found=found)


def warned(check: str, found: str, fix: str) -> Finding:
    """Say that something is worth a look."""
    return Finding(check=check, state=State.WARN, found=found, fix=fix)


def failed(check: str, found: str, fix: str) -> Finding:
    """Say that something is wrong."""
    return Finding(check=check, state=State.FAIL, found=found, fix=fix)


def skipped(check: str, found: str, fix: str) -> Finding:
    """Say what is needed to look at something."""
    return Finding(check=check, state=State.SKIP, found=found, fix=fix)
