"""A FastAPI route that needs a token. Run: GATE_URL=... GATE_SECRET=... uvicorn app:app"""

# ruff: noqa: INP001 - a program, not a package
import os
from typing import Annotated

from fastapi import Depends, FastAPI

from agentgate_client import AsyncClient, Verified
from agentgate_client.starlette import install, require_token

app = FastAPI()
install(app, AsyncClient(os.environ["GATE_URL"], os.environ["GATE_SECRET"]))


@app.post("/signup")
async def sign_up(verified: Annotated[Verified, Depends(require_token(action="signup"))]) -> dict[str, str]:
    """Sign up a visitor with a valid token."""
    return {"welcome": "you", "decision": verified.decision_id}
