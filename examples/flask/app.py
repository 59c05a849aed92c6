"""A Flask view that needs a token. Run: GATE_URL=... GATE_SECRET=... flask run"""

# ruff: noqa: INP001 - a program, not a package
import os

from flask import Flask, g

from agentgate_client import Client
from agentgate_client.flask import agentgate_required, install

app = Flask(__name__)
install(app, Client(os.environ["GATE_URL"], os.environ["GATE_SECRET"]))


@app.post("/signup")
@agentgate_required(action="signup")
def sign_up() -> dict[str, str]:
    """Sign up a visitor with a valid token."""
    return {"welcome": "you", "decision": g.agentgate.decision_id}
