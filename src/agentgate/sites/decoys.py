"""Decoys: links that no person sees or reaches. A client that opens one opens all links, and does not read robots.txt.

They are made per site and day, from the site's ID, which visitors do not know. One link more does not change, for pages
that contain it as text. All are in one folder, which the site's robots.txt forbids.
"""

from base64 import b32encode
from hashlib import blake2s

# Of the link that does not change.
STANDING = -1
# Unquoted, so that the link does no harm in a script's text. `hidden` is for sites whose policy forbids inline styles.
_HTML = "<a href={} rel=nofollow hidden aria-hidden=true tabindex=-1 style=display:none></a>"


def folder_of(site_id: str) -> str:
    return f"/{_name(site_id, 'folder')}/"


def link_of(site_id: str, day: int) -> str:
    """Return the target of the decoy of a day (UTC)."""
    return folder_of(site_id) + _name(site_id, f"day {day}")


def targets_on(site_id: str, day: int) -> frozenset[str]:
    """Return the targets that count on a day. Pages of the day before may still be open or in a cache."""
    return frozenset(link_of(site_id, each) for each in (day, day - 1, STANDING))


def html_of(link: str) -> str:
    return _HTML.format(link)


def forbid_decoys(text: str, site_id: str) -> str:
    """Return a robots.txt that also forbids the site's decoys, in each of its groups.

    A crawler ignores the group `*` if one has its name. The line is the first of its group, because some crawlers
    follow the first line that matches.
    """
    rule, lines = f"Disallow: {folder_of(site_id)}", list[str]()
    is_open = has_anyone = False
    for line in text.splitlines():
        key, _, value = line.partition("#")[0].partition(":")
        if key.strip().lower() == "user-agent":
            is_open = True
            has_anyone |= value.strip() == "*"
        elif is_open and key.strip():
            lines.append(rule)
            is_open = False
        lines.append(line)
    if is_open:
        lines.append(rule)
    if not has_anyone:
        lines += ([""] if lines else []) + ["User-agent: *", rule]
    return "\n".join(lines) + "\n"


def _name(site_id: str, purpose: str) -> str:
    return b32encode(blake2s(f"{purpose} {site_id}".encode(), digest_size=5).digest()).decode().lower()
