"""What a site's own server needs: verifying tokens, with retries, offline, and in web frameworks.

It knows AgentGate by its API alone and imports nothing else of this package. The frameworks are in modules of their
own (`starlette`, `flask`, `django`, and `asgi` and `wsgi` without one), so that none is needed here.
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
