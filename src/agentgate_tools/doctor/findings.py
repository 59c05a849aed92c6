"""Findings: what was checked, the result, and the fix in one sentence."""

from enum import StrEnum

from msgspec import Struct


class State(StrEnum):
    """How something is."""

    PASS = "pass"  # noqa: S105 - no password
    WARN = "warn"
    FAIL = "fail"
    # The given options do not allow this check.
    SKIP = "skip"


class Finding(Struct, frozen=True, kw_only=True):
    """The result of one check."""

    check: str
    state: State
    found: str
    # How to fix it; empty if there is no problem.
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
