"""FUNCTIONS: the functions that the self-test calls, and how it calls each with the arguments of a case.

A name is a module below `agentgate`, a colon and the function in it. An adapter takes the module and the arguments, as
JSON has them: bytes are text of Latin-1, keys are hexadecimal. Modules are imported when they are checked.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

# Takes the module, then the arguments of a case.
Adapter = Callable[..., Any]

KEY = bytes(range(32))
NOW_MS = 1_767_225_600_000
ROUTES = (
    {"method": "POST", "action": "pay", "path": "/pay"},
    {"method": "*", "action": "admin", "path_prefix": "/admin/"},
    {"method": "GET", "action": "any", "path_prefix": "/"},
)
RULES = """{"version": "1", "default_action": "allow", "rules": [
    {"name": "tools", "action": "block", "match": {"any_labels": ["ua.tool"], "none_labels": ["list.allow"]}},
    {"name": "login", "action": "challenge", "match": {"score": "bot", "min_score": 0.5},
     "routes": ["/login", "/account/*"]}
]}"""


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")


def _at(module: str) -> Any:
    return import_module(f"agentgate.{module}")


def _keyring() -> Any:
    keyring = _at("lib.keyring")
    stored = [
        keyring.StoredKey(id=purpose, purpose=purpose, sealed=b"", created_ms=0, active_ms=0)
        for purpose in keyring.PURPOSES
    ]
    return keyring.Keyring([(key, KEY) for key in stored], NOW_MS)


def _matched(module: Any, method: str, target: str) -> list[str]:
    table = module.RouteTable([_at("sites.records").SiteRoute(**route) for route in ROUTES])
    methods = module.methods_of(method, _bytes(target))
    return [found.action for found in table.matches(methods, _bytes(target), b"shop.example")]


def _judged(module: Any, method: str, target: str, fields: dict[str, str]) -> str | None:
    named = {_bytes(name): _bytes(value) for name, value in fields.items()}
    refusal = module.judge_head(_bytes(method), _bytes(target), version="1.1", fields=named, repeated=())
    return None if refusal is None else str(refusal.code)


def _inputs(module: Any, value: str) -> dict[str, Any]:
    return {label: [found.text, found.parameters] for label, found in module.read_inputs(_bytes(value)).items()}


def _signed_text(module: Any, signature_input: str, method: str, target: str, headers: dict[str, str]) -> bytes:
    message = _at("agents.identity").SignedMessage(
        method=method,
        scheme="https",
        authority="shop.example",
        target=target,
        headers={_bytes(name): _bytes(value) for name, value in headers.items()},
    )
    (found,) = _at("agents.signing.fields").read_inputs(_bytes(signature_input)).values()
    text: bytes = module.signed_text(message, found)
    return text


def _has_signed(module: Any, public: str, message: str, signature: str) -> bool:
    return bool(module.PublicKey(bytes.fromhex(public)).has_signed(_bytes(message), bytes.fromhex(signature)))


def _issued_clearance(module: Any, site_key: str, origin: str, clearance_id: str) -> str:
    issued = module.Clearances(_keyring(), 1_800).issue(
        site_key=site_key,
        origin=origin,
        holder=module.ClearanceHolder("203.0.113.9", b"Mozilla/5.0", "t13d1516h2_8daaf6152771_02713d6af862"),
        level=_at("lib.enums").ClearanceLevel.CHECKED,
        now_ms=NOW_MS,
        renewed=clearance_id,
    )
    return str(issued.value)


def _read_clearance(module: Any, value: str, site_key: str, after_s: int) -> Any:
    clearances = module.Clearances(_keyring(), 1_800)
    try:
        return clearances.read(value, site_key=site_key, now_ms=NOW_MS + after_s * 1_000)
    except module.ClearanceRefused as refused:
        return refused.reason


def _written_receipt(module: Any, site_key: str, action: str) -> str:
    grant = module.Grant(
        site_key=site_key,
        kind=_at("lib.enums").ReceiptKind.BROWSER,
        action=action,
        subject="0123456789abcdef",
        decision_id="dec_0000000000000",
    )
    issuer = module.ReceiptIssuer(module.SigningKeys(_keyring()), issuer="https://gate.example", lifetime_s=300)
    return str(issuer.issue(grant, now_ms=NOW_MS, receipt_id="rcpt_1").receipt)


def _webhook_headers(module: Any, delivery_id: str, body: str, secret: str, now_s: int) -> dict[str, str]:
    headers: dict[str, str] = module.signed_headers(delivery_id, _bytes(body), keys=[secret], now_ms=now_s * 1_000)
    return headers


def _in_networks(module: Any, networks: list[str], address: str) -> bool:
    number = _at("lib.ip_address").read_address(address)
    return bool(module.NetworkSet(map(module.read_strict_network, networks)).has(number))


def _verdict(module: Any, labels: list[str], bot_score: float, route: str) -> list[str | None]:
    value = _at("sites.rules.text").read_text(RULES).value
    compiled = module.compile_rules(_at("sites.rules.records").RuleSet(**value))
    verdict = compiled.evaluate(labels, {"bot": bot_score}, route=route, action=None)
    return [verdict.outcome.value, verdict.rule]


def _work(salt: str, count: int, *, memory_hard: bool) -> Any:
    algorithm, bits = ("scrypt", 11) if memory_hard else ("SHA-256", 4)
    return _at("browser_check.records").Work(algorithm=algorithm, salt=salt, count=count, bits=bits)


def _json_value(module: Any, text: str) -> Any:
    found = module.read_json(text)
    return None if found is None else [found[0]]


# What others are made of comes first: a message names the first function that is wrong.
FUNCTIONS: dict[str, Adapter] = {
    # base64url.
    "lib.base64url:encode": lambda module, data: module.encode(bytes.fromhex(data)),
    "lib.base64url:decode": lambda module, text: module.decode(text).hex(),
    # Digests, authentication codes and signatures.
    "lib.secrets:digest": lambda module, secret: module.digest(secret).hex(),
    "lib.secrets:same": lambda module, left, right: module.same(_bytes(left), _bytes(right)),
    "lib.mac:PreparedMac.tag": lambda module, key, message: (
        module.PreparedMac(bytes.fromhex(key)).tag(bytes.fromhex(message)).hex()
    ),
    "lib.keyring:Keyring.mac": lambda _, purpose, *parts: _keyring().mac(purpose, *map(_bytes, parts)).hex(),
    "lib.keyring:Keyring.is_mac": lambda _, tag, purpose, *parts: _keyring().is_mac(
        bytes.fromhex(tag), purpose, *map(_bytes, parts)
    ),
    "lib.keyring:Sealer.open": lambda module, sealed, context: module.Sealer(KEY).open(bytes.fromhex(sealed), context),
    "lib.ed25519:PrivateKey.sign": lambda module, seed, message: (
        module.PrivateKey(bytes.fromhex(seed)).sign(_bytes(message)).hex()
    ),
    "lib.ed25519:PublicKey.has_signed": _has_signed,
    # Request targets.
    "sites.targets:is_plain": lambda module, path: module.is_plain(_bytes(path)),
    "sites.targets:folded_path": lambda module, path: module.folded_path(_bytes(path)),
    "sites.targets:decoded_texts": lambda module, data: module.decoded_texts(_bytes(data)),
    "sites.route_table:RouteTable.matches": _matched,
    "gateway.request.original_request:read_url": lambda module, url: module.read_url(_bytes(url)),
    # Heads of requests.
    "http.connection.head:cut": lambda module, head: module.cut(_bytes(head)),
    "http.connection.head:cut_plainly": lambda module, head: module.cut_plainly(_bytes(head)),
    "http.connection.head:lines": lambda module, head: module.lines(_bytes(head)),
    "http.connection.head:lines_plainly": lambda module, head: module.lines_plainly(_bytes(head)),
    "http.connection.head:read_length": lambda module, head: module.read_length(_bytes(head)),
    "http.request_guard:judge_head": _judged,
    # Structured fields.
    "agents.signing.fields:read_inputs": _inputs,
    "agents.signing.fields:read_signatures": lambda module, value: module.read_signatures(_bytes(value)),
    "agents.signing.fields:rewrite": lambda module, value: module.rewrite(_bytes(value)),
    "agents.signing.fields:matches": lambda module, value, body: module.matches(_bytes(value), _bytes(body)),
    "agents.signing.signed_text:signed_text": _signed_text,
    "agents.signing.key_sets:thumbprint": lambda module, jwk: module.thumbprint(jwk),
    # Tokens, pseudonyms and codes.
    "browser_check.tokens.clearance:Clearances.issue": _issued_clearance,
    "browser_check.tokens.clearance:Clearances.read": _read_clearance,
    "browser_check.tokens.receipts:write_receipt": _written_receipt,
    "browser_check.tokens.receipts:read_receipt": lambda module, text: (
        module.read_receipt(text, module.SigningKeys(_keyring())).claims.aud
    ),
    "decision.visitor:Visitors.find": lambda module, site_key, address: (
        f"{module.Visitors(_keyring()).find(site_key, address):016x}"
    ),
    "events.webhooks.signing:signed_headers": _webhook_headers,
    "people.identity.totp:code_of": lambda module, secret, step: module.code_of(_bytes(secret), step, digits=8),
    "browser_check.work:is_solved": lambda module, salt, solutions: module.is_solved(
        _work(salt, 2, memory_hard=False), solutions, b""
    ),
    "browser_check.work:scrypt_answer": lambda module, salt, index: module.scrypt_answer(
        _work(salt, 1, memory_hard=True), index
    ),
    # Rules.
    "sites.rules.patterns.glob:Glob.matches": lambda module, glob, text: module.Glob(module.split_glob(glob)).matches(
        text
    ),
    "sites.rules.patterns.glob:read_program_glob": lambda module, glob, text: module.read_program_glob(glob).matches(
        text
    ),
    "sites.rules.patterns.networks:NetworkSet.has": _in_networks,
    "sites.rules.text:read_json": _json_value,
    "sites.rules.text:read_text": lambda module, text: module.read_text(text).value,
    "sites.rules.compile:compile_rules": _verdict,
    # Addresses.
    "http.address:canonical_address": lambda module, text: module.canonical_address(text),
    "http.address:source_of": lambda module, address: module.source_of(address),
    "http.address:network_of": lambda module, address: module.network_of(address),
    "http.outbound.public_address:is_public": lambda module, address: module.is_public(address),
    # Unicode and numbers.
    "lib.names:folded": lambda module, text: module.folded(text),
    "lib.names:check_name": lambda module, text: module.check_name(text),
    "people.identity.users:canonical_email": lambda module, text: module.canonical_email(text),
    "sites.price:read_price": lambda module, text: (found := module.read_price(text)) and found.text(),
    "lib.moment:Moment.parse": lambda module, text: module.Moment.parse(text),
    "events.decision_ids:read_id": lambda module, text: module.read_id(text),
    "events.decision_ids:write_id": lambda module, number: module.write_id(number),
}
