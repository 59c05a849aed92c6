"""`agentgate agent-sim`: send good and bad requests as an agent would, and check the responses."""

import itertools
import json
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from agentgate.agents.policy_decision import policy_action
from agentgate.lib.clock import SystemClock
from agentgate.sites.agent_policy import read_policy
from agentgate_tools.agent_simulator.cases import Form, Policy, Writer, digest_cases, page_cases, submit_cases
from agentgate_tools.agent_simulator.sign import AgentSigningKey
from agentgate_tools.agent_simulator.simulator import GatewayDoor, Result, SiteDoor, SubmitDoor, simulate
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, PrintedTable, read_file
from agentgate_tools.commands.parameters import Argument, Option

AGENT = "https://agent-sim.example"
KEY_FILE = Path("agent-sim.key")

SiteOption = Annotated[
    str,
    Option(
        help="Page of the protected site to simulate, such as https://shop.example/news; an action may "
        "follow: https://shop.example/news#read."
    ),
]
SecretOption = Annotated[Path | None, Option("--secret-file", help="File with a backend secret of the site.")]
SubmitOption = Annotated[str, Option(help="Site key and action for a test submission, such as site_demo1/contact.")]
PolicyOption = Annotated[
    Path | None,
    Option(help="File with the site's agent policy (JSON); Default: the printed entry is assumed to be set."),
]


def agent_sim(
    url: Annotated[
        str, Argument(help="Address of AgentGate with --secret-file or --submit, otherwise a page of the site.")
    ],
    *,
    site: SiteOption = "",
    secret_file: SecretOption = None,
    submit: SubmitOption = "",
    policy: PolicyOption = None,
) -> CommandAnswer:
    """Send valid and invalid agent requests; exit code 1 if a response is wrong.

    The key is stored in `agent-sim.key` in the current folder. Default: generated.
    """
    key = _own_key()
    results = []
    if submit:
        results += _submit(url, submit, policy, key)
    if secret_file is not None:
        results = _ask_gateway(url, site, secret_file, policy=policy, key=key) + results
    elif not submit:
        results += _visit(url, policy, key)
    return _answer(results, key)


def _ask_gateway(url: str, site: str, secret_file: Path, *, policy: Path | None, key: AgentSigningKey) -> list[Result]:
    if not site:
        raise CommandRefused("give the page to simulate, such as --site https://shop.example/news")
    origin, path, action = _page(site)
    secret = read_file(secret_file, "give a file that contains only the secret").strip()
    writer = _writer(key, origin, path, policy=_read_policy(policy, key, action))
    cases = itertools.chain(page_cases(writer), digest_cases(writer))
    return simulate(cases, GatewayDoor(_address_of(url), origin=origin, secret=secret))


def _visit(url: str, policy: Path | None, key: AgentSigningKey) -> list[Result]:
    origin, path, action = _page(url)
    writer = _writer(key, origin, path, policy=_read_policy(policy, key, action))
    return simulate(page_cases(writer), SiteDoor(origin))


def _submit(url: str, submit: str, policy: Path | None, key: AgentSigningKey) -> list[Result]:
    site_key, slash, action = submit.partition("/")
    if not slash or not site_key or not action:
        raise CommandRefused("--submit takes a site key and an action, such as site_demo1/contact")
    service = _address_of(url)
    writer = _writer(key, service, "/agent/submit", policy=_read_policy(policy, key, action))
    return simulate(submit_cases(writer, Form(site_key=site_key, action=action)), SubmitDoor(service))


def _writer(key: AgentSigningKey, origin: str, path: str, *, policy: tuple[str, Policy]) -> Writer:
    agent, terms = policy
    return Writer(
        key=key,
        other_key=AgentSigningKey.make(),
        agent=agent,
        origin=origin,
        path=path,
        policy=terms,
        now_s=SystemClock().now_ms() // 1000,
    )


def _own_key() -> AgentSigningKey:
    if not KEY_FILE.exists():
        KEY_FILE.touch(mode=0o600)
        KEY_FILE.write_text(AgentSigningKey.new_seed().hex() + "\n")
    try:
        return AgentSigningKey(bytes.fromhex(KEY_FILE.read_text().strip()))
    except (OSError, ValueError):
        raise CommandRefused(f"{KEY_FILE} is not a key of 32 bytes in hex; delete it to generate a new one") from None


def _read_policy(path: Path | None, key: AgentSigningKey, action: str | None) -> tuple[str, Policy]:
    """Return the name under which the policy lists the key, and the policy for it."""
    if path is None:
        return AGENT, Policy()
    try:
        policy = read_policy(msgspec.json.decode(read_file(path, "give a file with the policy")))
    except (msgspec.DecodeError, ValueError) as error:
        raise CommandRefused(f"{path}: {error}; give the response of GET .../agent-policy") from None
    listed = (agent for agent, entry in policy.agents.items() if key.jwk["x"] in msgspec.json.encode(entry).decode())
    known = next(listed, None)
    agent = known or AGENT
    price, strangers_price = (policy.price_for(who, action) for who in (agent if known else None, None))
    claimed = next(name for name in ("GPTBot", "ClaudeBot", "CCBot", "Bytespider") if policy.entry_named(name) is None)
    return agent, Policy(
        is_known=known is not None,
        decision=policy_action(policy, agent, action).value,
        unverified=policy.unverified.value,
        price=None if price is None else price.text(),
        strangers_price=None if strangers_price is None else strangers_price.text(),
        claimed=f"{claimed}/1.0",
    )


def _page(url: str) -> tuple[str, str, str | None]:
    """Return origin, path with its query, and the action that the fragment names."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.netloc or "@" in parts.netloc:
        raise CommandRefused(f"{url!r} is not the address of a page; give one such as https://shop.example/news")
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc}", (parts.path or "/") + query, parts.fragment or None


def _address_of(url: str) -> str:
    origin, path, _ = _page(url)
    return origin + path.rstrip("/")


def _answer(results: list[Result], key: AgentSigningKey) -> CommandAnswer:
    entry = {"agents": {AGENT: {"name": "Simulator", "decision": "allow", "jwks": key.jwks}}}
    told = [msgspec.to_builtins(result) for result in results]
    rows = (
        (
            "right" if result.is_right else "WRONG",
            result.name,
            result.expected,
            f"{result.status} {result.answered}",
            result.note,
        )
        for result in results
    )
    wrong = sum(not result.is_right for result in results)
    return CommandAnswer(
        {"agent": AGENT, "jwk": key.jwk, "keyid": key.keyid, "policy": entry, "results": told},
        [
            PrintedTable("Agent requests", ("Result", "Request", "Should be", "Was answered", "Note"), rows),
            f"{len(results)} requests, {wrong} with an unexpected response.",
            f"Add the simulator's key to the site's agent policy:\n{json.dumps(entry)}",
        ],
        code=1 if wrong else 0,
    )
