"""The rules for a request head, one row each."""

import pytest

from agentgate.http.request_guard import MAX_TARGET_BYTES, RequestRefusal, judge_head, judge_host, judge_target

GOOD = {b"host": b"gate.example"}


def judge(
    *lines: tuple[bytes, bytes], method: bytes = b"GET", target: bytes = b"/", version: str = "1.1"
) -> RequestRefusal | None:
    """Judge a head with a good Host and these further lines."""
    fields = dict(GOOD)
    repeated = []
    for name, value in lines:
        if name in fields:
            repeated.append(name)
        fields.setdefault(name, value)
    return judge_head(method, target, version=version, fields=fields, repeated=repeated)


@pytest.mark.parametrize("method", [b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_plain_request_passes(method, version):
    assert judge(method=method, version=version) is None


@pytest.mark.parametrize("method", [b"CONNECT", b"TRACE", b"PROPFIND", b"get", b"", b"GET "])
def test_another_method_is_rejected(method):
    assert judge(method=method) == RequestRefusal(400, "unknown_method")


@pytest.mark.parametrize("version", ["0.9", "1.2", "2.0", "3.0", ""])
def test_another_version_is_rejected(version):
    assert judge(version=version) == RequestRefusal(400, "unsupported_version")


@pytest.mark.parametrize("target", [b"/", b"/a/b?c=d&e=%2f", b"//a", b"/a;b=c", b"/" + b"a" * (MAX_TARGET_BYTES - 1)])
def test_a_target_in_origin_form_passes(target):
    assert judge_target(target) is None


@pytest.mark.parametrize(
    ("target", "refusal"),
    [
        (b"", RequestRefusal(400, "target_form")),
        (b"*", RequestRefusal(400, "target_form")),
        (b"http://evil/", RequestRefusal(400, "target_form")),
        (b"gate.example:443", RequestRefusal(400, "target_form")),
        (b"\\a", RequestRefusal(400, "target_form")),
        (b"/a#b", RequestRefusal(400, "target_bytes")),
        (b"/a b", RequestRefusal(400, "target_bytes")),
        (b"/a\x00", RequestRefusal(400, "target_bytes")),
        (b"/a\r\n", RequestRefusal(400, "target_bytes")),
        (b"/a\x7f", RequestRefusal(400, "target_bytes")),
        (b"/\xc3\xa9", RequestRefusal(400, "target_bytes")),
        (b"/" + b"a" * MAX_TARGET_BYTES, RequestRefusal(414, "target_too_long")),
    ],
)
def test_another_target_is_rejected(target, refusal):
    assert judge_target(target) == refusal
    assert judge(target=target) == refusal


@pytest.mark.parametrize(
    "host",
    [
        b"gate.example",
        b"gate.example:8080",
        b"GATE.example.",
        b"localhost",
        b"_gate.example",
        b"192.0.2.1",
        b"192.0.2.1:65535",
        b"[::1]",
        b"[2001:db8::1]:443",
        b"[::ffff:192.0.2.1]",
        b"a" * 254,
    ],
)
def test_a_valid_host_passes(host):
    assert judge_host(host) is None


@pytest.mark.parametrize(
    "host",
    [
        b"",
        b" ",
        b"gate.example ",
        b"\tgate.example",
        b"gate example",
        b"gate.example,other.example",
        b"user@gate.example",
        b"gate.example/",
        b"gate.example?a",
        b"gate.example#a",
        b"gate.example:",
        b"gate.example:a",
        b"gate.example:+80",
        b"gate.example:65536",
        b"gate.example:80:80",
        b"gate.example\n",
        b"g%61te.example",
        b".gate.example",
        b"-gate.example",
        b"::1",
        b"[::1",
        b"[::zz]",
        b"[:::]",
        b"[192.0.2.1]",
        b"[fe80::1%25eth0]",
        b"g\xc3\xa4te.example",
        b"a" * 255,
    ],
)
def test_an_invalid_host_is_rejected(host):
    assert judge_host(host) == RequestRefusal(400, "host_invalid")


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_head_without_host_is_rejected(version):
    refusal = judge_head(b"GET", b"/", version=version, fields={b"accept": b"*/*"}, repeated=[])

    assert refusal == RequestRefusal(400, "host_missing")


def test_a_head_without_headers_is_rejected():
    assert judge_head(b"GET", b"/", version="1.1", fields={}, repeated=[]) == RequestRefusal(400, "host_missing")


def test_128_headers_pass_and_129_do_not():
    lines = [(b"x-%d" % number, b"a") for number in range(128)]

    assert judge(*lines[:127]) is None
    assert judge(*lines) == RequestRefusal(431, "too_many_headers")


def test_repeated_lines_count_as_headers():
    assert judge(*([(b"via", b"a")] * 127)) is None
    assert judge(*([(b"via", b"a")] * 128)) == RequestRefusal(431, "too_many_headers")


def test_40_kib_of_headers_pass_and_a_byte_more_does_not():
    room = 40 * 1024 - len(b"host" + GOOD[b"host"]) - 4 - len(b"x") - 4

    assert judge((b"x", b"a" * room)) is None
    assert judge((b"x", b"a" * (room + 1))) == RequestRefusal(431, "headers_too_large")


@pytest.mark.parametrize("name", [b"", b"x a", b"x:a", b"x\x00", b"x\xe9", b"x(", b"X-Upper", b"_ _", b'x"'])
def test_a_name_that_is_not_a_token_is_rejected(name):
    assert judge((name, b"a")) == RequestRefusal(400, "header_name")


@pytest.mark.parametrize("value", [b"a\rb", b"a\nb", b"a\x00b", b"a\x01b", b"a\x1fb", b"a\x7fb", b"\x0b"])
def test_a_control_byte_in_a_value_is_rejected(value):
    assert judge((b"x-a", value)) == RequestRefusal(400, "header_value")


@pytest.mark.parametrize("value", [b"", b"a\tb", b"caf\xc3\xa9", b'a b, c; d="e"'])
def test_an_ordinary_value_passes(value):
    assert judge((b"x-a", value)) is None


@pytest.mark.parametrize(
    "name",
    [
        b"x_original_uri",
        b"x-original_uri",
        b"x_service_secret",
        b"x_forwarded_for",
        b"x_admin_key",
        b"x_csrf_token",
        b"content_length",
        b"transfer_encoding",
        b"sec_fetch_site",
    ],
)
def test_an_underscore_instead_of_a_trusted_dash_is_rejected(name):
    assert judge((name, b"a")) == RequestRefusal(400, "header_underscore")


@pytest.mark.parametrize("name", [b"x_request_id", b"_", b"my_header"])
def test_another_underscore_passes(name):
    assert judge((name, b"a")) is None


@pytest.mark.parametrize(
    "name",
    [
        b"host",
        b"content-length",
        b"transfer-encoding",
        b"authorization",
        b"x-admin-key",
        b"x-csrf-token",
        b"origin",
        b"content-type",
        b"cookie",
        b"x-original-uri",
        b"x-original-anything",
        b"sec-fetch-site",
        b"content-encoding",
    ],
)
def test_a_second_security_header_is_rejected(name):
    assert judge((name, b"1"), (name, b"1")) == RequestRefusal(400, "header_repeated")


@pytest.mark.parametrize("name", [b"accept", b"via", b"x-forwarded-for", b"cache-control"])
def test_a_header_that_may_be_a_list_may_be_repeated(name):
    assert judge((name, b"a"), (name, b"b")) is None


@pytest.mark.parametrize("length", [b"0", b"5", b"005", b"9" * 19])
def test_a_length_of_digits_passes(length):
    assert judge((b"content-length", length)) is None


@pytest.mark.parametrize(
    "length", [b"", b"+5", b"-5", b"5 ", b" 5", b"5 5", b"5,5", b"0x5", b"5.0", b"1_0", b"\xb2", b"9" * 20]
)
def test_another_length_is_rejected(length):
    assert judge((b"content-length", length)) == RequestRefusal(400, "content_length")


@pytest.mark.parametrize("encoding", [b"chunked", b"Chunked", b"CHUNKED"])
def test_chunked_passes(encoding):
    assert judge((b"transfer-encoding", encoding)) is None


@pytest.mark.parametrize(
    "encoding", [b"", b"xchunked", b"chunked ", b"\tchunked", b"chunked, identity", b"gzip, chunked", b"identity"]
)
def test_another_transfer_encoding_is_rejected(encoding):
    assert judge((b"transfer-encoding", encoding)) == RequestRefusal(400, "transfer_encoding")


def test_chunked_in_http_1_0_is_rejected():
    assert judge((b"transfer-encoding", b"chunked"), version="1.0") == RequestRefusal(400, "transfer_encoding")


def test_length_and_chunked_together_are_rejected():
    length, chunked = (b"content-length", b"5"), (b"transfer-encoding", b"chunked")

    assert judge(length, chunked) == RequestRefusal(400, "length_and_encoding")
    assert judge(chunked, length) == RequestRefusal(400, "length_and_encoding")


@pytest.mark.parametrize("encoding", [b"gzip", b"br", b"", b"identity, gzip"])
def test_an_encoded_body_is_rejected(encoding):
    assert judge((b"content-encoding", encoding)) == RequestRefusal(400, "content_encoding")


@pytest.mark.parametrize("target", [b"/v1/gateway/check?respond=denial", b"/v1/gateway/denied?d=x", b"/.agentgate/x"])
def test_the_encoding_of_a_visitors_body_passes(target):
    encoding = (b"content-encoding", b"gzip")

    assert judge(encoding, encoding, target=target) is None


def test_the_identity_encoding_passes():
    assert judge((b"content-encoding", b"Identity")) is None


@pytest.mark.parametrize("line", [(b"content-length", b"5"), (b"transfer-encoding", b"chunked")])
def test_an_upgrade_with_a_body_is_rejected(line):
    assert judge((b"upgrade", b"websocket"), line) == RequestRefusal(400, "upgrade_with_body")


def test_an_upgrade_without_a_body_passes():
    assert judge((b"connection", b"upgrade"), (b"upgrade", b"websocket")) is None


@pytest.mark.parametrize(
    ("target", "version", "is_refused"),
    [
        (b"/healthz", "1.0", False),
        (b"/healthz", "1.1", True),
        (b"/readyz", "1.0", True),
        (b"/healthz/", "1.0", True),
    ],
)
def test_a_probe_of_http_1_0_needs_no_host(target: bytes, version: str, is_refused: bool) -> None:
    refusal = judge_head(b"GET", target, version=version, fields={}, repeated=[])

    assert refusal == (RequestRefusal(400, "host_missing") if is_refused else None)


def test_a_probe_without_a_host_is_judged_otherwise_like_every_request() -> None:
    both = {b"content-length": b"1", b"transfer-encoding": b"chunked"}

    assert judge_head(b"GET", b"/healthz", version="1.0", fields=both, repeated=[]) is not None
