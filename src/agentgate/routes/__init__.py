"""The route tables, in the order of the specification. Tables only: method, path, handler, guard."""

from agentgate.http.surface import Surface
from agentgate.routes.account import ACCOUNT
from agentgate.routes.admin import ADMIN
from agentgate.routes.compat import COMPAT
from agentgate.routes.console import CONSOLE
from agentgate.routes.data_plane import (
    AGENTS,
    BLOCK_FEED,
    BROWSER,
    CONTENT,
    HANDOFF,
    HANDOFF_PAGES,
    RECEIPTS,
    SITEVERIFY,
)
from agentgate.routes.gateway import GATEWAY
from agentgate.routes.pages import CUSTOMER_PAGES, OPERATOR_PAGES
from agentgate.routes.public import DOCUMENTATION, OPERATIONS, PUBLIC

# The surfaces of each listener. The public one does not contain the admin routes at all.
PUBLIC_LISTENER = (
    PUBLIC,
    BROWSER,
    SITEVERIFY,
    GATEWAY,
    RECEIPTS,
    CONTENT,
    BLOCK_FEED,
    AGENTS,
    HANDOFF,
    HANDOFF_PAGES,
    *COMPAT,
    ACCOUNT,
    CONSOLE,
    CUSTOMER_PAGES,
    DOCUMENTATION,
)
ADMIN_LISTENER = (ADMIN, OPERATIONS, OPERATOR_PAGES, DOCUMENTATION)

SURFACES: tuple[Surface, ...] = (*PUBLIC_LISTENER, ADMIN, OPERATIONS, OPERATOR_PAGES)
