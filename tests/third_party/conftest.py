"""Chromium for the packages that run in a page."""

from tests.browser.conftest import believed, browser, chromium, context, page

__all__ = ["believed", "browser", "chromium", "context", "page"]
