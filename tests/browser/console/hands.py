"""Two ways to use a page with the same words: a mouse, and a keyboard that never touches one.

The keyboard moves the focus with Tab as a person does, so what Tab does not reach fails the journey.
"""

import re
from typing import Protocol

from playwright.sync_api import Locator, Page

from tests.browser.steps import wait_for

# Direction in which the focus must move from here: `here`, `group` (a radio button's group, where arrows choose), or a
# direction; `gone` when the page has rendered the target again.
WAY = """(target) => {
  if (!target.isConnected) return 'gone';
  const active = document.activeElement;
  if (active === target) return 'here';
  if (target.type === 'radio' && active.type === 'radio' && active.name === target.name) return 'group';
  return active.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_PRECEDING ? 'back' : 'on';
}"""
KEYS = {"on": "Tab", "back": "Shift+Tab", "group": "ArrowDown"}
MOST_KEYS = 250
# Menus lie elsewhere in the document than where Tab finds them: after so many turns, straight on.
MOST_TURNS = 2
IS_TICKED = "(target) => ['checkbox', 'radio'].includes(target.type)"
LONG = 40


class Hand(Protocol):
    """What journeys do with a page."""

    name: str
    page: Page

    def press(self, target: Locator) -> None:
        """Press a button, a link or a switch, or choose a radio button."""

    def fill(self, target: Locator, text: str) -> None:
        """Write a text into a field, and replace its content."""

    def send(self, target: Locator) -> None:
        """Send the form of a field that was filled: by its button, or by Enter."""

    def choose(self, target: Locator, option: str) -> None:
        """Choose an option of a list."""

    def use(self, key: str, target: Locator) -> None:
        """Do what has a key and a button."""

    def use_option(self, target: Locator) -> None:
        """Take an option that a search found."""

    def mark(self, target: Locator) -> None:
        """Mark a part of a chart."""

    def go(self, name: str) -> None:
        """Open a page of the console by its name."""


class Mouse:
    """Points and clicks; types only into fields."""

    name = "mouse"

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, target: Locator) -> None:
        """Click; of a hidden radio button or switch, its label."""
        target.wait_for(state="attached")
        hidden = target.evaluate(IS_TICKED)
        (target.locator("xpath=ancestor::label[1]") if hidden else target).click()

    def fill(self, target: Locator, text: str) -> None:
        """Click into the field and write."""
        target.click()
        target.fill(text)

    def send(self, target: Locator) -> None:
        """Click the form's submit button, even if it is marked as having no effect."""
        target.locator("xpath=ancestor::form[1]").locator("button:not([type=button])").last.click(force=True)

    def choose(self, target: Locator, option: str) -> None:
        """Choose from the list."""
        target.select_option(label=option)

    def use(self, key: str, target: Locator) -> None:
        """Click the button."""
        target.click()

    def use_option(self, target: Locator) -> None:
        """Click it."""
        target.click()

    def mark(self, target: Locator) -> None:
        """Drag over the middle third."""
        target.wait_for()
        box = target.bounding_box()
        assert box is not None
        self.page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 50)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 60, steps=4)
        self.page.mouse.up()

    def go(self, name: str) -> None:
        """Click the page in the navigation."""
        self.page.locator("nav.nav").get_by_role("link", name=name, exact=True).click()


class Keyboard:
    """Tab, Enter, Space, arrows, letters and the palette."""

    name = "keyboard"

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, target: Locator) -> None:
        """Reach and press it; a radio button is chosen by the arrows that reach it."""
        self._reach(target)
        self.page.keyboard.press("Space" if target.evaluate(IS_TICKED) else "Enter")

    def fill(self, target: Locator, text: str) -> None:
        """Reach the field, select its content, and overwrite it."""
        self._reach(target)
        self.page.keyboard.press("Control+a")
        if len(text) > LONG:
            self.page.keyboard.insert_text(text)
        else:
            self.page.keyboard.type(text)

    def send(self, target: Locator) -> None:
        """Press Enter in the field."""
        self._reach(target)
        self.page.keyboard.press("Enter")

    def choose(self, target: Locator, option: str) -> None:
        """Reach the list, open it, type the option's name, and take it."""
        self._reach(target)
        self.page.keyboard.press("Space")
        self.page.keyboard.type(option)
        self.page.keyboard.press("Enter")

    def use(self, key: str, target: Locator) -> None:
        """Press the key, outside of fields, where it would be a letter."""
        target.wait_for()
        self._leave_field()
        self.page.keyboard.press(key)

    def use_option(self, target: Locator) -> None:
        """Press Enter once it is the one that Enter takes."""
        wait_for(self.page, lambda: target.get_attribute("aria-selected") == "true")
        self.page.keyboard.press("Enter")

    def mark(self, target: Locator) -> None:
        """Reach the chart, and mark its last steps."""
        self._reach(target)
        self.page.keyboard.press("ArrowLeft")
        for _ in range(3):
            self.page.keyboard.press("Shift+ArrowLeft")
        self.page.keyboard.press("Enter")

    def go(self, name: str) -> None:
        """Open the palette, type the page's name, and press Enter."""
        self.page.keyboard.press("Control+k")
        self.page.locator("dialog.palette input:focus").wait_for()
        self.page.keyboard.type(name)
        self.page.locator("dialog.palette [aria-selected=true]", has_text=re.compile(f"^{re.escape(name)}")).wait_for()
        self.page.keyboard.press("Enter")

    def _leave_field(self) -> None:
        for _ in range(MOST_KEYS):
            if not self.page.evaluate("document.activeElement.matches('input:not([type=radio]), textarea, select')"):
                return
            self.page.keyboard.press("Tab")

    def _reach(self, target: Locator) -> None:
        # Find the element once: to find it again for each key would take three calls instead of one.
        element = target.element_handle()
        turns, before = 0, ""
        for _ in range(MOST_KEYS):
            way = str(element.evaluate(WAY))
            if way == "here":
                return
            if way == "gone":
                element = target.element_handle()
                continue
            if way not in {"group", before}:
                turns, before = turns + 1, way
            self.page.keyboard.press(KEYS["on" if turns > MOST_TURNS and way == "back" else way])
        raise AssertionError(f"Tab does not reach {target}; the focus is on {_focused(self.page)}")


HANDS = {"mouse": Mouse, "keyboard": Keyboard}


def hand_like(hand: Hand, page: Page) -> Hand:
    """Return the same hand on another person's page."""
    other: Hand = HANDS[hand.name](page)
    return other


def see_heading(page: Page, text: str) -> None:
    """Wait until a page of the console has this title."""
    wait_for(page, lambda: page.locator("main h1").count() and text in page.locator("main h1").inner_text())


def _focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.outerHTML.slice(0, 200)"))
