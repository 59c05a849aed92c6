"""`agentgate agent-keys`: make an agent's key, sign its key directory, and check a published directory."""

import base64
import hashlib
import json
from http.client import HTTPException
from pathlib import Path
from typing import Annotated, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import click

from agentgate.agents.signing.fields import Unreadable, matches, read_inputs, read_signatures
from agentgate.agents.signing.key_sets import NotAKeySet, is_current, read_key, read_key_set, thumbprint
from agentgate.lib.clock import SECOND_MS, SystemClock
from agentgate.sites.agent_policy import WELL_KNOWN
from agentgate_tools.agent_simulator.sign import AgentSigningKey
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, command, read_file
from agentgate_tools.commands.parameters import Argument, Option

agent_keys = click.Group(
    help="Make, sign and check the keys of an agent.",
    epilog="Example: agentgate agent-keys check https://agent.example",
)
TAG = "http-message-signatures-directory"
MEDIA_TYPE = "application/http-message-signatures-directory+json"
KEY_FILE, DIRECTORY_FILE = "agent.key", "directory.json"
DIRECTORY_HOURS = 24
MOST_BYTES = 64 * 1024
TIMEOUT_S = 10


@command(agent_keys, "make", "agentgate agent-keys make keys")
def make(folder: Annotated[Path, Argument(help="Folder for agent.key and directory.json.")]) -> CommandAnswer:
    """Make an Ed25519 key (agent.key) and the key set to publish (directory.json)."""
    private = folder / KEY_FILE
    if private.exists():
        raise CommandRefused(f"{private} exists; choose another folder, or remove the key")
    folder.mkdir(parents=True, exist_ok=True)
    seed = AgentSigningKey.new_seed()
    key = AgentSigningKey(seed)
    private.touch(mode=0o600)
    private.write_text(seed.hex() + "\n")
    (folder / DIRECTORY_FILE).write_text(json.dumps(key.jwks, indent=2) + "\n")
    told = f"Key {key.keyid}. Serve {DIRECTORY_FILE} at https://<your host>{WELL_KNOWN} as {MEDIA_TYPE}."
    return CommandAnswer({"keyId": key.keyid, "directory": str(folder / DIRECTORY_FILE)}, told)


@command(agent_keys, "sign", "agentgate agent-keys sign keys agent.example")
def sign(
    folder: Annotated[Path, Argument(help="Folder with agent.key and directory.json.")],
    host: Annotated[str, Argument(help="Host that serves the directory, such as agent.example.")],
    hours: Annotated[int, Option("--hours", min=1, max=168, help="Lifetime of the signature.")] = DIRECTORY_HOURS,
) -> CommandAnswer:
    """Print the headers that prove that the host may publish the key. Renew them before they expire."""
    try:
        key = AgentSigningKey(bytes.fromhex(read_file(folder / KEY_FILE).strip()))
    except ValueError:
        raise CommandRefused(f"{folder / KEY_FILE} is not a key of `agentgate agent-keys make`") from None
    body = read_file(folder / DIRECTORY_FILE).encode()
    headers = signed_headers(key, host, body, created_s=SystemClock().now_ms() // SECOND_MS, hours=hours)
    return CommandAnswer(headers, "\n".join(f"{name}: {value}" for name, value in headers.items()))


def signed_headers(key: AgentSigningKey, host: str, body: bytes, *, created_s: int, hours: int) -> dict[str, str]:
    """Return the headers of a signed directory response."""
    digest = f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
    parameters = (
        f'("@authority";req "content-digest");created={created_s};expires={created_s + hours * 3600}'
        f';keyid="{key.keyid}";alg="ed25519";tag="{TAG}"'
    )
    signature = base64.b64encode(key.sign(_signed_text(host, digest, parameters))).decode()
    return {
        "Content-Type": MEDIA_TYPE,
        "Content-Digest": digest,
        "Signature-Input": f"sig1={parameters}",
        "Signature": f"sig1=:{signature}:",
    }


def _signed_text(host: str, digest: str, parameters: str) -> bytes:
    lines = (f'"@authority";req: {host}', f'"content-digest": {digest}', f'"@signature-params": {parameters}')
    return "\n".join(lines).encode()


@command(agent_keys, "check", "agentgate agent-keys check https://agent.example")
def check(url: Annotated[str, Argument(help="Origin of the agent, or URL of its key set.")]) -> CommandAnswer:
    """Check a published key directory as a verifier reads it; exit code 1 if an agent cannot be verified by it."""
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "localhost"}:
        raise CommandRefused(f"{url} is not an https URL")
    target = url if parts.path not in {"", "/"} else f"{url.rstrip('/')}{WELL_KNOWN}"
    try:
        with urlopen(Request(target, headers={"accept": MEDIA_TYPE}), timeout=TIMEOUT_S) as reply:  # noqa: S310 - checked
            status, final, body = reply.status, reply.url, reply.read(MOST_BYTES + 1)
            headers = {name.lower(): value for name, value in reply.headers.items()}
    except HTTPError as problem:
        problem.close()
        raise CommandRefused(f"{target} could not be fetched: {problem}") from None
    except (HTTPException, URLError, OSError) as problem:
        raise CommandRefused(f"{target} could not be fetched: {problem}") from problem
    findings = directory_findings(status, body, headers, host=parts.netloc, now_ms=SystemClock().now_ms())
    if final != target:
        findings.insert(0, ("error", f"the response is a redirect to {final}; verifiers follow none"))
    lines = [f"{kind}: {text}" for kind, text in findings]
    failed = any(kind == "error" for kind, _ in findings)
    return CommandAnswer({"url": target, "findings": [list(each) for each in findings]}, lines, code=int(failed))


def directory_findings(
    status: int, body: bytes, headers: dict[str, str], *, host: str, now_ms: int
) -> list[tuple[str, str]]:
    """Return what a verifier finds in a directory response: `ok`, `hint` or `error`, each with a sentence."""
    if status != 200:
        return [("error", f"the status is {status} instead of 200")]
    if len(body) > MOST_BYTES:
        return [("error", f"the key set has more than {MOST_BYTES} bytes")]
    try:
        keys = read_key_set(body)
    except NotAKeySet as problem:
        return [("error", problem.reason)]
    found = [_key_finding(keyid, listed.times, now_ms) for keyid, listed in keys.items()]
    document = json.loads(body)
    usable = [jwk for jwk in document.get("keys", [document]) if isinstance(jwk, dict) and read_key(jwk) is not None]
    named = [jwk for jwk in usable if jwk.get("kid", thumbprint(jwk)) != thumbprint(jwk)]
    found += [("hint", f"kid {jwk['kid']} is not the thumbprint {thumbprint(jwk)}") for jwk in named]
    if headers.get("content-type", "").partition(";")[0] != MEDIA_TYPE:
        found.append(("hint", f"Content-Type should be {MEDIA_TYPE}"))
    return [*found, _signature_finding(body, headers, host, now_ms)]


def _key_finding(keyid: str, times: Any, now_ms: int) -> tuple[str, str]:
    if is_current(times, now_ms=now_ms):
        return "ok", f"key {keyid} is current"
    return "error", f"key {keyid} is listed for another time (nbf, exp)"


def _signature_finding(body: bytes, headers: dict[str, str], host: str, now_ms: int) -> tuple[str, str]:
    if "signature-input" not in headers:
        return "hint", "the response is not signed (`agentgate agent-keys sign`); some verifiers require it"
    digest = headers.get("content-digest", "")
    if not matches(digest.encode(), body):
        return "error", "Content-Digest does not match the key set"
    keys = read_key_set(body)
    try:
        inputs = read_inputs(headers["signature-input"].encode())
        signatures = read_signatures(headers.get("signature", "").encode())
    except Unreadable as problem:
        return "error", f"the signature cannot be read: {problem}"
    for label, found in inputs.items():
        listed, expires = keys.get(str(found.parameters.get("keyid"))), found.parameters.get("expires")
        is_fresh = isinstance(expires, int) and now_ms < expires * SECOND_MS
        if listed is None or found.parameters.get("tag") != TAG or not is_fresh or label not in signatures:
            continue
        if listed.key.has_signed(_signed_text(host, digest, found.text), signatures[label]):
            return "ok", f"the response is signed with key {found.parameters['keyid']!s}"
    return "error", "no signature of the response is valid for this host, now"
