"""Django's settings for tests: one process has them once, whichever test comes first."""

from types import ModuleType

import django
from django.conf import settings


def configure() -> None:
    """Set Django up unless that was done."""
    if not settings.configured:
        urls = ModuleType("urls")
        settings.configure(SECRET_KEY="test", ALLOWED_HOSTS=["*"], ROOT_URLCONF=urls, AGENTGATE={}, USE_I18N=False)
        django.setup()
