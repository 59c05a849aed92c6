"""axe-core in a page: what it finds wrong, and proof that it looked into the widget at all."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.browser.chromium import absent

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """async (tags) => {
  const found = await axe.run(document, {runOnly: {type: 'tag', values: tags}});
  const lines = (rows) => rows.flatMap((row) => row.nodes.map((node) =>
    `${row.id}: ${node.target.flat().join(' ')}: ${node.failureSummary ?? ''}`));
  const inside = found.passes.flatMap((row) => row.nodes).filter((node) => Array.isArray(node.target[0]));
  return {violations: lines(found.violations), inside: inside.length};
}"""


def load_axe(page: Page) -> None:
    """Put axe-core into the page."""
    if not AXE.exists():
        absent("axe-core: node_modules is not installed (npm ci)")
    page.evaluate(AXE.read_text())


def run_axe(page: Page) -> dict[str, Any]:
    """Check the page in its present state; `inside` is the number of elements checked within shadow roots."""
    found: dict[str, Any] = page.evaluate(RUN, TAGS)
    return found
