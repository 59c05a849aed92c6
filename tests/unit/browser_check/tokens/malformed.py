"""Texts that are not receipts, each with its fault. Our own key signs most of them: the form alone must fail."""

import hashlib
import hmac
import json
from collections.abc import Iterator

from tests.unit.browser_check.tokens.made import CLAIMS, HEADER, KEYS, claims_json, encoded, part, receipt, resigned

GOOD = receipt()
HEAD, BODY, SIGNATURE = GOOD.split(".")
PUBLIC = KEYS.current(test=False).published.x


def cases() -> Iterator[tuple[str, str]]:
    """Yield a name and a text."""
    for made in (_headers, _header_spellings, _keyless, _claims, _claim_spellings, _texts, _cuts, _encodings, _bits):
        for name, text in made():
            yield f"{made.__name__[1:]}: {name}", text


def _headers() -> Iterator[tuple[str, str]]:
    names = ("none", "None", "NONE", "nOnE", "", " ", "HS256", "HS384", "HS512", "RS256", "PS256", "ES256", "ES512")
    names += ("ES256K", "eddsa", "EDDSA", "EdDSA ", " EdDSA", "EdDSA\0", "ed25519", "Ed448", "ED25519", "dir", "A128KW")
    for name in names:
        yield f"alg {name!r}", resigned({**HEADER, "alg": name})
    for value in (None, 0, True, [], {}, ["EdDSA"], {"alg": "EdDSA"}):
        for field in HEADER:
            yield f"{field} {value!r}", resigned({**HEADER, field: value})
    types = ("JWT", "jwt", "at+jwt", "", "agentgate-receipt", "AGENTGATE-RECEIPT+JWT", "application/" + HEADER["typ"])
    for name in types:
        yield f"typ {name!r}", resigned({**HEADER, "typ": name})
    traversal = ("../../etc/passwd", "/dev/null", "..%2f..%2fkey", "0", "'; DROP TABLE signing_key --", "*", "\0", "")
    kids = (*traversal, HEADER["kid"].lower(), HEADER["kid"][:-1], HEADER["kid"] + "=", f" {HEADER['kid']}", "a" * 200)
    for kid in kids:
        yield f"kid {kid[:20]!r}", resigned({**HEADER, "kid": kid})
    yield "kid of the test ring", resigned({**HEADER, "kid": KEYS.current(test=True).key_id})
    extra = {
        "crit": ["exp"], "jwk": {"kty": "OKP", "crv": "Ed25519", "x": PUBLIC}, "jku": "https://evil.example/keys",
        "x5u": "https://evil.example/cert", "x5c": [PUBLIC], "x5t": "x", "b64": False, "cty": "JWT", "zip": "DEF",
        "enc": "A256GCM", "epk": {}, "apu": "x", "p2c": 1, "iv": "x", "tag": "x", "nonce": "x", "url": "x", "": "x",
    }  # fmt: skip
    for name, value in extra.items():
        yield f"with {name!r}", resigned({**HEADER, name: value})
    for name in HEADER:
        yield f"without {name}", resigned({field: value for field, value in HEADER.items() if field != name})
    for value in ([], "x", 1, None, True, {}, [HEADER], "EdDSA"):
        yield f"is {json.dumps(value)[:12]}", resigned(json.dumps(value).encode())


def _header_spellings() -> Iterator[tuple[str, str]]:
    text = json.dumps(HEADER, separators=(",", ":"))
    yield "cut", resigned(text[:-1].encode())
    yield "twice", resigned((text * 2).encode())
    yield "single quotes", resigned(text.replace('"', "'").encode())
    yield "comment", resigned((text[:-1] + "/* */}").encode())
    yield "trailing comma", resigned((text[:-1] + ",}").encode())
    yield "byte order mark", resigned(b"\xef\xbb\xbf" + text.encode())
    yield "UTF-16", resigned(text.encode("utf-16"))
    yield "not UTF-8", resigned(text.replace("EdDSA", "Ed\udcff").encode("utf-8", "surrogateescape"))
    yield "deep", resigned(b"[" * 250)
    yield "alg none hidden behind the right one", resigned(text[:-1].encode() + b',"alg":"none"}')


def _keyless() -> Iterator[tuple[str, str]]:
    # A public key taken for a shared secret: the classic confusion.
    for algorithm in ("HS256", "EdDSA"):
        signed = f"{part({**HEADER, 'alg': algorithm})}.{BODY}"
        for name, secret in (("public key", PUBLIC.encode()), ("nothing", b""), ("kid", HEADER["kid"].encode())):
            tag = hmac.digest(secret, signed.encode(), hashlib.sha512)
            yield f"{algorithm} keyed with {name}", f"{signed}.{encoded(tag)}"
    for algorithm in ("none", "EdDSA"):
        signed = f"{part({**HEADER, 'alg': algorithm})}.{BODY}"
        for signature in ("", "A" * 86, "_" * 85 + "w", SIGNATURE[::-1]):
            if (algorithm, signature) != ("EdDSA", SIGNATURE):
                yield f"{algorithm} signed with {signature[:5]!r}", f"{signed}.{signature}"


def _claims() -> Iterator[tuple[str, str]]:
    for name in ("iss", "aud", "jti", "iat", "exp", "kind", "action", "sub", "decisionId"):
        yield f"without {name}", resigned(HEADER, claims_json(**{name: None}))
        for value in (1.5, True, [], {"a": 1}, "\u0661\u0662" if name in {"iat", "exp"} else 7):
            yield f"{name} {value!r}", resigned(HEADER, claims_json(**{name: value}))
    for value in ("robot", "", "Browser", "BROWSER"):
        yield f"kind {value!r}", resigned(HEADER, claims_json(kind=value))
    for value in (-(2**70), 2**70, "1794744000", 1e30):
        yield f"exp {value!r}", resigned(HEADER, claims_json(exp=value))
    for name in ("nbf", "admin", "role", "Aud", "EXP", "decision_id", "__proto__", ""):
        yield f"unknown {name!r}", resigned(HEADER, claims_json(**{name: "x"}))
    for value in (1, 0, "true", []):
        yield f"test {value!r}", resigned(HEADER, claims_json(test=value))
    yield "test under a real key", resigned(HEADER, claims_json(test=True))
    yield "real under a test key", resigned({**HEADER, "kid": KEYS.current(test=True).key_id}, test=True)
    for value in ([], "x", 1, True, [claims_json()]):
        yield f"is {json.dumps(value)[:12]}", resigned(HEADER, json.dumps(value).encode())


def _claim_spellings() -> Iterator[tuple[str, str]]:
    text = json.dumps(claims_json(), separators=(",", ":"))
    for name in ("aud", "jti", "exp", "test"):
        value = {"exp": "99999999999", "test": "false"}.get(name, '"x"')
        yield f"{name} twice, ours first", resigned(HEADER, f'{text[:-1]},"{name}":{value}}}'.encode())
        yield f"{name} twice, ours last", resigned(HEADER, f'{{"{name}":{value},{text[1:]}'.encode())
    yield "spaces", resigned(HEADER, json.dumps(claims_json()).encode())
    yield "other order", resigned(HEADER, dict(reversed(claims_json().items())))
    yield "escaped name", resigned(HEADER, text.replace('"aud"', '"\\u0061ud"').encode())
    yield "escaped slash", resigned(HEADER, text.replace("//", "\\/\\/").encode())
    yield "exponent", resigned(HEADER, text.replace(f'"exp":{CLAIMS.exp}', f'"exp":{CLAIMS.exp}e0').encode())
    yield "leading zero", resigned(HEADER, text.replace('"iat":', '"iat":0').encode())
    yield "not a number", resigned(HEADER, text.replace(f'"exp":{CLAIMS.exp}', '"exp":NaN').encode())
    yield "endless", resigned(HEADER, text.replace(f'"exp":{CLAIMS.exp}', '"exp":Infinity').encode())
    yield "newline behind", resigned(HEADER, text.encode() + b"\n")
    yield "more behind", resigned(HEADER, text.encode() + b"{}")
    yield "cut", resigned(HEADER, text[:-1].encode())
    yield "huge number", resigned(HEADER, text.replace('"iat":', '"iat":' + "9" * 900).encode())


def _texts() -> Iterator[tuple[str, str]]:
    yield from {
        "nothing": "", "a point": ".", "two points": "..", "three points": "...", "a word": "token", "null": "null",
        "NUL": "\0", "a test secret": "ags_test_always_pass", "JSON": json.dumps({"token": GOOD}),
        "four parts": f"{GOOD}.{SIGNATURE}", "five parts": f"{GOOD}.{SIGNATURE}.{SIGNATURE}",
        "empty header": f".{BODY}.{SIGNATURE}", "empty claims": f"{HEAD}..{SIGNATURE}",
        "other order": f"{BODY}.{HEAD}.{SIGNATURE}", "twice": GOOD * 2, "huge": GOOD * 40, "long": "a" * 100_000,
        "longest header": f"{'e' * 1900}.{'e' * 60}.{SIGNATURE}", "space before": f" {GOOD}",
        "space behind": f"{GOOD} ",
        "newline behind": f"{GOOD}\n", "CRLF behind": f"{GOOD}\r\n", "tab inside": GOOD.replace(".", ".\t", 1),
        "newline inside": GOOD[:50] + "\n" + GOOD[50:], "Bearer": f"Bearer {GOOD}", "quoted": f'"{GOOD}"',
        "full-width point": GOOD.replace(".", "\uff0e"), "zero-width space": f"\u200b{GOOD}",
        "surrogate": f"{GOOD}\ud800",
        "arabic digits": GOOD.translate({48 + n: 0x660 + n for n in range(10)}),
        "full-width letters": GOOD.translate({letter: letter + 0xFEE0 for letter in range(65, 91)}),
        "upper case": GOOD.upper(), "lower case": GOOD.lower(), "backwards": GOOD[::-1],
        "percent": GOOD.replace(".", "%2E"), "clearance": f"agc2.{BODY}",
        "JSON form": json.dumps({"protected": HEAD, "payload": BODY, "signature": SIGNATURE}),
    }.items()  # fmt: skip


def _cuts() -> Iterator[tuple[str, str]]:
    head, whole = len(HEAD), len(GOOD)
    for length in (1, head - 1, head, head + 1, whole - 87, whole - 86, whole - 2, whole - 1):
        yield f"after {length}", GOOD[:length]
    for length in (1, 2, 10):
        yield f"first {length} gone", GOOD[length:]
        yield f"signature longer by {length}", GOOD + "A" * length


def _encodings() -> Iterator[tuple[str, str]]:
    for place, name in enumerate(("header", "claims", "signature")):
        for mark in ("=", "==", "===", "A", "AA", "+", "/", "%3D", " ", "\n", "\0"):
            parts = GOOD.split(".")
            parts[place] += mark
            yield f"{mark!r} behind {name}", ".".join(parts)
    yield "standard alphabet", GOOD.replace("-", "+").replace("_", "/") + ("" if {"-", "_"} & set(GOOD) else "+")


def _bits() -> Iterator[tuple[str, str]]:
    # A last character that carries fewer than six bits has spellings which sloppy decoders take for the same.
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for place, name in enumerate(("header", "claims", "signature")):
        for step in (1, 2, 3):
            parts = GOOD.split(".")
            parts[place] = parts[place][:-1] + alphabet[alphabet.index(parts[place][-1]) ^ step]
            yield f"last of {name} changed by {step}", ".".join(parts)
