"""The client for a site's own server: verifying tokens, with retries, offline, and in web frameworks.

It uses only AgentGate's API and imports nothing else of this package. Each framework has its own module (`starlette`,
`flask`, `django`, and `asgi` and `wsgi` for plain applications), so this module imports none.
"""

from agentgate_client.offline import OfflineVerifier
from agentgate_client.reconcile import Reconciled, Reconciler
from agentgate_client.results import AgentGateError, Unavailable, VerificationFailed, Verified
from agentgate_client.routes import Route
from agentgate_client.verify import Client
from agentgate_client.verify_async import AsyncClient

__all__ = [
    "AgentGateError",
    "AsyncClient",
    "Client",
    "OfflineVerifier",
    "Reconciled",
    "Reconciler",
    "Route",
    "Unavailable",
    "VerificationFailed",
    "Verified",
]
