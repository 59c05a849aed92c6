"""The first owner's link at the start: requested from the running service, as `agentgate setup-link` does."""

import json
import socket
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException

from agentgate.lib.settings.schema import Settings

# Short, because the supervisor also has to watch its workers.
TIMEOUT_S = 3.0
EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - replaced, not listened on


def request_setup_link(settings: Settings, listener: socket.socket) -> str:
    """Return a new link; empty if a user has a password already, or if the service does not respond."""
    host, port = listener.getsockname()[:2]
    try:
        key = settings.admin_key or settings.admin_key_path.read_text(encoding="ascii").strip()
        with closing(HTTPConnection(EVERY_ADDRESS.get(host, host), port, timeout=TIMEOUT_S)) as connection:
            connection.request("POST", "/v1/admin/setup-link", headers={"X-Admin-Key": key})
            reply = connection.getresponse()
            made = json.loads(reply.read()) if reply.status == HTTPStatus.CREATED else {}
    except (OSError, HTTPException, ValueError):
        return ""
    return str(made.get("setupUrl", ""))
