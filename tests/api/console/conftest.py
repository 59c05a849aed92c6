"""The people whose console is tested, signed in."""

import pytest

from tests.support.cast import Cast, cast
from tests.support.service import RunningService


@pytest.fixture
def people(service: RunningService) -> Cast:
    """Acme's and Globex's people."""
    return cast(service)
