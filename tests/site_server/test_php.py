"""The PHP client against the real service.

The WordPress plug-in, in a real WordPress with a real browser, is in `tests/browser/wordpress`.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.site_server.gate import ORIGIN, proxy

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "packages" / "php-client" / "src" / "agentgate.php"
PLUGIN = ROOT / "packages" / "wordpress" / "agentgate"

pytestmark = pytest.mark.skipif(shutil.which("php") is None, reason="PHP is not installed")

VERIFY = """
require $argv[1];
$asked = json_decode($argv[2], true);
$client = new AgentGate\\Client($asked['url'], $asked['secret'], 1.0, $asked['retries'] ?? 2);
$told = [];
foreach ($asked['calls'] as [$token, $action, $more]) {
    try {
        $told[] = ['action' => $client->verify($token, $action, $more)['action']];
    } catch (AgentGate\\VerificationFailed $refused) {
        $told[] = ['code' => $refused->errorCode];
    } catch (AgentGate\\Unavailable $away) {
        $told[] = ['away' => $away->requestId];
    }
}
echo json_encode($told);
"""


def php(code, *arguments):
    """Run PHP and return what it wrote, as JSON."""
    # The file that stream wrappers need is part of PHP itself; nothing of the machine's configuration is.
    command = ["php", "-d", "error_reporting=E_ALL", "-d", "display_errors=stderr", "-r", code, "--", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr or done.stdout
    assert done.stderr == ""
    return json.loads(done.stdout)


def verify(url, secret, *calls, **more):
    return php(VERIFY, str(CLIENT), json.dumps({"url": url, "secret": secret, "calls": calls, **more}))


def test_a_token_is_redeemed_once_and_for_its_action_and_origin(gate):
    token, other, foreign = gate.token(), gate.token("login"), gate.token()

    told = verify(
        gate.url,
        gate.secret,
        (token, "signup", {"expectedOrigin": ORIGIN}),
        (token, "signup", {}),
        (other, "signup", {}),
        (foreign, "signup", {"expectedOrigin": "https://evil.example"}),
        (None, "signup", {}),
        ("not a token", "signup", {}),
    )

    codes = ["token_used", "action_mismatch", "origin_mismatch", "receipt_required", "invalid_token"]
    assert told == [{"action": "signup"}, *({"code": code} for code in codes)]


def test_a_lost_response_is_requested_again_and_the_token_counts(gate):
    with proxy(gate.url) as lossy:
        lossy.lost = 2
        told = verify(lossy.url, gate.secret, (gate.token(), "signup", {}))

    assert told == [{"action": "signup"}]


def test_a_service_that_is_unavailable_and_a_wrong_secret_are_distinguished(gate):
    away = verify("http://127.0.0.1:9", gate.secret, (gate.token(), "signup", {"requestId": "order-1"}), retries=0)
    wrong = verify(gate.url, "ags_wrong", (gate.token(), "signup", {}))

    assert away == [{"away": "order-1"}]
    assert wrong == [{"code": "invalid_credential"}]


@pytest.mark.parametrize(("url", "secret"), [("gate.example", "ags_x"), ("https://gate.example", "a\r\nX: y")])
def test_what_cannot_work_is_rejected_at_once(url, secret):
    made = "new AgentGate\\Client($argv[2], $argv[3]);"
    code = f"require $argv[1]; try {{ {made} echo 1; }} catch (InvalidArgumentException $e) {{ echo 2; }}"

    assert php(code, str(CLIENT), url, secret) == 2


def test_the_plug_in_has_the_same_client_and_its_files_are_php():
    assert (PLUGIN / "client.php").read_bytes() == CLIENT.read_bytes()
    for file in PLUGIN.glob("*.php"):
        assert subprocess.run(["php", "-l", file], capture_output=True, check=False).returncode == 0, file
