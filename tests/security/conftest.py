"""What security tests share: the people, and everything there is."""

import pytest

from tests.support.cast import Cast, cast
from tests.support.service import RunningService
from tests.support.two_accounts import Scene, set_scene


@pytest.fixture
def people(service: RunningService) -> Cast:
    """Acme's and Globex's people, signed in."""
    return cast(service)


@pytest.fixture
def scene(service: RunningService) -> Scene:
    """Both accounts with one of everything."""
    return set_scene(service)
