"""The examples of docs/agent-actions.md work as described."""

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgate.agents.signing.fields import digest_of
from agentgate.agents.submit.canonical import content_bytes
from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from tests.support.agent_client import SEED
from tests.support.agent_steps import AgentShop
from tests.support.service import ADMIN_KEY, RunningService, running_service

PAGE = Path(__file__).parents[3] / "docs" / "agent-actions.md"


def snippets() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningService]:
    environ = {
        "AGENTGATE_DATA_DIR": str(tmp_path / "data"),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_DRAIN_SECONDS": "0",
        "AGENTGATE_CONFIRM_CRAWLERS": "off",
    }
    # By the time of day: the example has no other.
    with running_service(read_settings(environ), SystemClock()) as running:
        yield running


def test_the_example_submits_and_pays(service: RunningService) -> None:
    shop = AgentShop(service)
    shop.set_policy(actions={"submit": {"price": "USD 0.05"}})
    environ = {
        **os.environ,
        "AGENTGATE_URL": service.public_url,
        "AGENT_URL": shop.agent.url,
        "AGENT_KEY": base64.b64encode(SEED).decode(),
        "SITE_KEY": shop.site_key,
    }

    done = subprocess.run(
        [sys.executable, "-c", snippets()[0]], env=environ, capture_output=True, text=True, timeout=30, check=True
    )

    assert done.stdout.startswith("200 "), done.stdout + done.stderr
    assert "'charged': 'USD 0.05'" in done.stdout


def test_the_digest_of_the_page_is_the_receipts() -> None:
    content = {"b": "Grüße", "a": [1, None, True, 'x"y']}
    names = {"content": content, "json": json, "base64": base64, "hashlib": __import__("hashlib")}

    exec(snippets()[1], names)

    assert names["content_digest"] == digest_of(content_bytes(content))
