"""The documentation, on both listeners."""

from agentgate.http.documentation import endpoints as documentation
from agentgate.http.surface import Surface, anyone, get, rows
from agentgate.lib import errors

HTML = "text/html"

DOCUMENTATION = Surface(
    name="documentation",
    title="AgentGate documentation",
    prefix="",
    errors=errors.CONSOLE,
    rows=rows(
        "",
        anyone,
        (
            get("/llms.txt", documentation.read_llms, media_type="text/plain", any_query=True),
            get("/docs", documentation.read_start, status=308, any_query=True),
            get("/docs/", documentation.read_page, media_type=HTML, any_query=True),
            get("/docs/search", documentation.read_search, media_type=HTML, any_query=True),
            get("/docs/{page}", documentation.read_page, media_type=HTML, any_query=True),
            get("/docs/{folder}/{page}", documentation.read_page, media_type=HTML, any_query=True),
        ),
    ),
)
