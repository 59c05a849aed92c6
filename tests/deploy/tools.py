"""Programs that read the files of deploy/."""

import shutil

import pytest


def tool(name: str) -> str:
    """Return the path of a program; skip the test if it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found
