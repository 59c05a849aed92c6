"""The route tables, in the order of the specification. Tables only: method, path, handler, guard."""

from agentgate.surfaces.account import ACCOUNT
from agentgate.surfaces.admin import ADMIN
from agentgate.surfaces.agents import AGENTS
from agentgate.surfaces.browser import BROWSER
from agentgate.surfaces.compat import COMPAT
from agentgate.surfaces.console import CONSOLE
from agentgate.surfaces.gateway import GATEWAY
from agentgate.surfaces.handoff import HANDOFF, HANDOFF_PAGES
from agentgate.surfaces.operations import OPERATIONS
from agentgate.surfaces.public import PUBLIC
from agentgate.surfaces.validation import RECEIPTS, SITEVERIFY
from agentgate.web.surface import Surface

SURFACES: tuple[Surface, ...] = (
    PUBLIC,
    BROWSER,
    SITEVERIFY,
    GATEWAY,
    RECEIPTS,
    AGENTS,
    HANDOFF,
    HANDOFF_PAGES,
    *COMPAT,
    ACCOUNT,
    CONSOLE,
    ADMIN,
    OPERATIONS,
)

# What each listener has. The public one does not contain the admin routes at all.
PUBLIC_LISTENER = (
    PUBLIC,
    BROWSER,
    SITEVERIFY,
    GATEWAY,
    RECEIPTS,
    AGENTS,
    HANDOFF,
    HANDOFF_PAGES,
    *COMPAT,
    ACCOUNT,
    CONSOLE,
)
ADMIN_LISTENER = (ADMIN, OPERATIONS)
