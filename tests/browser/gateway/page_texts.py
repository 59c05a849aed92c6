"""The texts of the hosted page."""

import json

from playwright.sync_api import Page

BLOCKED = "This page cannot be opened"

# A rule that any clearance satisfies, of whatever level.
UNCLEARED = {"name": "uncleared", "action": "challenge", "match": {"none_labels": ["receipt.clearance"]}}


def heading(page: Page, text: str) -> None:
    """Wait for the visible heading of this text."""
    page.wait_for_selector(f"h1:visible:text-is({json.dumps(text)})")
