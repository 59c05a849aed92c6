"""A Django project in one file with a protected route. Run: GATE_URL=... GATE_SECRET=... python app.py runserver"""

# ruff: noqa: INP001 - a program, not a package
import os
import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpRequest, JsonResponse
from django.urls import path

settings.configure(
    ROOT_URLCONF=__name__,
    SECRET_KEY=os.urandom(32).hex(),
    ALLOWED_HOSTS=["127.0.0.1", "localhost"],
    MIDDLEWARE=["agentgate_client.django.AgentGateMiddleware"],
    AGENTGATE={
        "BASE_URL": os.environ["GATE_URL"],
        "SECRET": os.environ["GATE_SECRET"],
        "PROTECT": [("POST", "/signup", "signup")],
    },
)


def sign_up(request: HttpRequest) -> JsonResponse:
    """Sign up a visitor with a valid token."""
    return JsonResponse({"welcome": "you", "decision": request.agentgate.decision_id})


urlpatterns = [path("signup", sign_up)]

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
