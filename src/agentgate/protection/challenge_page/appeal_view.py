"""What the challenge page shows of appeals: the button with its form, and the page that says what became of one."""

from agentgate.http.markup import Markup, element, joined
from agentgate.lib.enums import AppealState
from agentgate.lib.limits import APPEAL_CHARACTERS
from agentgate.protection.appeals.records import StoredAppeal
from agentgate.protection.challenge_page.languages import Language

ADDRESS = "/.agentgate/v1/gateway/appeal"
# A field that nobody sees, with a name that programs like to fill in.
TRAP = "website"
_TITLES = {AppealState.LET_IN: "appeal_let_in", AppealState.REFUSED: "appeal_refused"}


def form(language: Language, ticket: str, text: str = "", *, is_open: bool = False) -> Markup:
    """Return the button that opens the form. It needs no script."""
    words = language.words
    fields = joined(
        (
            element("input", type="hidden", name="ticket", value=ticket),
            element("input", type="text", name=TRAP, hidden="", tabindex="-1", autocomplete="off"),
            element("label", words["appeal_label"], for_="appeal-text"),
            element("textarea", text, id="appeal-text", name="text", rows="3", maxlength=str(APPEAL_CHARACTERS)),
            element("button", words["appeal_send"], class_="button"),
        )
    )
    return element(
        "details",
        element("summary", words["appeal_open"]),
        element("form", fields, method="post", action=ADDRESS),
        class_="appeal",
        open="" if is_open else None,
    )


def standing(language: Language, appeal: StoredAppeal, return_url: str) -> tuple[str, Markup]:
    """Return title and content of the page that says where an appeal stands. Spam is told as little as what waits."""
    words = language.words
    title = words[_TITLES.get(appeal.state, "appeal_sent")]
    go_on = element("a", words["continue"], href=return_url, class_="button")
    content = joined(
        (
            element("h1", title),
            element("p", words["appeal_keep"]) if appeal.state not in _TITLES else None,
            element("blockquote", appeal.reply) if appeal.reply and appeal.state in _TITLES else None,
            go_on if appeal.state is AppealState.LET_IN else None,
        )
    )
    return title, content
