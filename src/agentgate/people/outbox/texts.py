"""The wording of messages: plain text, and the same as HTML. Nothing is loaded from anywhere, nothing is counted.

Texts are paragraphs with an empty line between. A paragraph that is an address of ours becomes a link.
"""

import re
from html import escape

from agentgate.lib import limits

INVITE_SUBJECT = "Your invitation to AgentGate"
RESET_SUBJECT = "Choose a new AgentGate password"
ADDED_SUBJECT = "You were added to an account on AgentGate"
PASSWORD_CHANGED_SUBJECT = "Your AgentGate password was changed"  # noqa: S105 - a subject line, no password
MFA_RESET_SUBJECT = "Two-factor authentication was turned off"

# Whoever invites chooses the account's name. Mail programs turn what looks like an address into a link, so such a name
# would let anybody send links to strangers in our name.
_LINK_LIKE = re.compile(r"://|\w\.\w{2}|@")
_ADDRESS = re.compile(r"https?://\S+\Z")

_STYLE = "max-width: 36em; margin: 2em auto; padding: 0 1em; font: 16px/1.5 sans-serif; color: #1a1a1a"
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body style="{style}">
{paragraphs}
</body>
</html>
"""


def invite(account_name: str, url: str) -> str:
    """Return the text of an invitation."""
    return _text(
        "Hello,",
        f"you have been invited to {_account(account_name)} on AgentGate."
        " Open this link to choose a password and join:",
        url,
        f"The link works once, within {limits.INVITE_LINK_DAYS} days. If you do not know what this is about, ignore"
        " this message: nothing happens unless you open the link and choose a password.",
    )


def reset(url: str) -> str:
    """Return the text that goes with a link to choose a new password."""
    return _text(
        "Hello,",
        "somebody, hopefully you, asked for a new password for your AgentGate user. Open this link to choose one:",
        url,
        f"The link works once, within {limits.PASSWORD_RESET_LINK_HOURS} hour. If it was not you, ignore this message:"
        " your password stays as it is.",
    )


def added(account_name: str, url: str) -> str:
    """Return the text of the notice about one more account."""
    return _text(
        "Hello,",
        f"you were added to {_account(account_name)} on AgentGate. Sign in as usual and switch to it:",
        url,
        "If you do not want to belong to it, you can leave it on its page of members.",
    )


def password_changed() -> str:
    """Return the text of the notice about a changed password."""
    return _text(
        "Hello,",
        "the password of your AgentGate user was changed.",
        "If it was not you, ask for a new password on the sign-in page at once and tell the operator of the service.",
    )


def mfa_reset() -> str:
    """Return the text of the notice about two-factor authentication that an operator turned off."""
    return _text(
        "Hello,",
        "an operator turned off two-factor authentication for your AgentGate user. From now on the password alone"
        " is enough to sign in.",
        "If you asked for this, set it up again soon. If you did not, tell the operator of the service at once.",
    )


def to_html(subject: str, text: str) -> str:
    """Return a text as an HTML page that is readable without its style and loads nothing."""
    paragraphs = "\n".join(f"<p>{_paragraph(part)}</p>" for part in text.strip().split("\n\n"))
    return _PAGE.format(title=escape(subject), style=_STYLE, paragraphs=paragraphs)


def _paragraph(text: str) -> str:
    shown = escape(text)
    return f'<a href="{shown}">{shown}</a>' if _ADDRESS.match(text) else shown


def _text(*paragraphs: str) -> str:
    return "\n\n".join(paragraphs) + "\n"


def _account(name: str) -> str:
    shown = " ".join(name.split())
    return "an account" if not shown or _LINK_LIKE.search(shown) else f'the account "{shown}"'
