"""The route tables, in the order of the specification. Tables only: method, path, handler, guard."""

from agentgate.surfaces.admin import ADMIN
from agentgate.surfaces.operations import OPERATIONS
from agentgate.surfaces.public import PUBLIC
from agentgate.web.surface import Surface

SURFACES: tuple[Surface, ...] = (PUBLIC, ADMIN, OPERATIONS)

# What each listener has. The public one does not contain the admin routes at all.
PUBLIC_LISTENER = (PUBLIC,)
ADMIN_LISTENER = (ADMIN, OPERATIONS)
