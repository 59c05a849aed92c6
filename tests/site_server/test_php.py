"""The PHP client against the real service, and the WordPress plug-in with stand-ins for WordPress's own functions.

The plug-in in a real WordPress with a real browser is in `tests/browser/wordpress`.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.site_server.gate import ORIGIN, SITE_KEY, proxy

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

# What the plug-in calls of WordPress, as far as its forms need it.
WORDPRESS = """
define('ABSPATH', '/');
$hooks = [];
$options = ['agentgate' => json_decode($argv[2], true)];
class WP_Error {
    public array $codes = [];
    public function __construct($code = '', $message = '') { if ($code) { $this->codes[] = $code; } }
    public function add($code, $message) { $this->codes[] = $code; }
}
function add_action($name, $call, $priority = 10, $count = 1) { $GLOBALS['hooks'][$name][] = [$call, $count]; }
function add_filter($name, $call, $priority = 10, $count = 1) { add_action($name, $call, $priority, $count); }
function run($name, ...$given) {
    foreach ($GLOBALS['hooks'][$name] ?? [] as [$call, $count]) {
        $changed = $call(...array_slice($given, 0, $count));
        if ($changed !== null) { $given[0] = $changed; }
    }
    return $given[0] ?? null;
}
function get_option($name, $default = false) { return $GLOBALS['options'][$name] ?? $default; }
function home_url() { return 'https://shop.example'; }
function wp_parse_url($url) { return parse_url($url); }
function wp_unslash($value) { return stripslashes($value); }
function esc_attr($text) { return htmlspecialchars($text, ENT_QUOTES); }
function esc_html($text) { return htmlspecialchars($text, ENT_QUOTES); }
function __($text, $domain = '') { return $text; }
function esc_html__($text, $domain = '') { return $text; }
function is_admin() { return false; }
function current_user_can($what) { return false; }
function plugin_basename($file) { return $file; }
function load_plugin_textdomain(...$given) {}
function wp_register_script(...$given) { $GLOBALS['script'] = $given[1]; }
function wp_enqueue_script($name) {}
function wp_script_is(...$given) { return false; }
class Died extends Exception {}
function wp_die($message, $title, $given) { throw new Died((string) $given['response']); }
require $argv[1] . '/agentgate.php';
"""

FORMS = """
$tokens = json_decode($argv[3], true);
function outcome(callable $send, ?string $token) {
    AgentGate\\WordPress\\Forms::forget();
    $_POST = ['log' => 'ann'] + ($token === null ? [] : ['agentgate-token' => $token]);
    try { return $send(); } catch (Died $died) { return $died->getMessage(); }
}
$forms = [
    'login' => fn () => run('authenticate', 'ann', 'ann') instanceof WP_Error ? 'refused' : 'taken',
    'register' => fn () => run('registration_errors', new WP_Error())->codes ? 'refused' : 'taken',
    'lost_password' => function () {
        $e = new WP_Error(); run('lostpassword_post', $e); return $e->codes ? 'refused' : 'taken';
    },
    'comment' => fn () => run('preprocess_comment', ['comment_type' => 'comment']) ? 'taken' : 'refused',
    'checkout' => function () {
        $e = new WP_Error();
        run('woocommerce_after_checkout_validation', [], $e);
        return $e->codes ? 'refused' : 'taken';
    },
    'contact' => fn () => run('wpcf7_spam', false) ? 'refused' : 'taken',
];
$told = [];
foreach ($forms as $action => $send) {
    $told[$action] = [outcome($send, null), outcome($send, $tokens[$action]), outcome($send, $tokens[$action])];
}
ob_start();
run('login_form');
echo json_encode(['told' => $told, 'html' => ob_get_clean() ?: '', 'script' => $GLOBALS['script'],
    'contact' => run('wpcf7_form_elements', '<p><input class="x" type="submit" value="Send"></p>')]);
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


def test_a_lost_answer_is_asked_for_again_and_the_token_counts(gate):
    with proxy(gate.url) as lossy:
        lossy.lost = 2
        told = verify(lossy.url, gate.secret, (gate.token(), "signup", {}))

    assert told == [{"action": "signup"}]


def test_a_service_that_is_away_and_a_wrong_secret_are_told_apart(gate):
    away = verify("http://127.0.0.1:9", gate.secret, (gate.token(), "signup", {"requestId": "order-1"}), retries=0)
    wrong = verify(gate.url, "ags_wrong", (gate.token(), "signup", {}))

    assert away == [{"away": "order-1"}]
    assert wrong == [{"code": "invalid_credential"}]


@pytest.mark.parametrize(("url", "secret"), [("gate.example", "ags_x"), ("https://gate.example", "a\r\nX: y")])
def test_what_cannot_work_is_refused_at_once(url, secret):
    made = "new AgentGate\\Client($argv[2], $argv[3]);"
    code = f"require $argv[1]; try {{ {made} echo 1; }} catch (InvalidArgumentException $e) {{ echo 2; }}"

    assert php(code, str(CLIENT), url, secret) == 2


def test_the_plug_in_takes_no_form_without_a_good_token(gate):
    actions = ("login", "register", "lost_password", "comment", "checkout", "contact")
    change = {"actions": {name: {"browserRequired": True} for name in ("signup", *actions)}}
    assert gate.service.operator.patch(f"/v1/admin/sites/{SITE_KEY}", json=change).status_code == 200
    settings = {"url": gate.url, "site_key": SITE_KEY, "secret": gate.secret}
    tokens = {name: gate.token(name) for name in actions}

    made = php(WORDPRESS + FORMS, str(PLUGIN), json.dumps(settings), json.dumps(tokens))

    refused = {name: ["refused", "taken", "refused"] for name in actions} | {"comment": ["403", "taken", "403"]}
    assert made["told"] == refused
    assert made["html"] == f'<div class="agentgate" data-sitekey="{SITE_KEY}" data-action="login"></div>'
    assert made["script"] == f"{gate.url}/sdk/v1/agentgate.js"
    assert 'data-action="contact"></div><input class="x" type="submit"' in made["contact"]


def test_while_the_service_is_away_the_owner_chooses(gate):
    code = WORDPRESS + "echo json_encode(AgentGate\\WordPress\\Forms::problem('login') === null);"
    run = "$_POST = ['agentgate-token' => 'a.b.c'];" + code
    away = {"url": "http://127.0.0.1:9", "site_key": SITE_KEY, "secret": gate.secret}

    assert php(run, str(PLUGIN), json.dumps(away)) is False
    assert php(run, str(PLUGIN), json.dumps({**away, "fail_open": True})) is True


def test_the_plug_in_has_the_same_client_and_its_files_are_php():
    assert (PLUGIN / "client.php").read_bytes() == CLIENT.read_bytes()
    for file in PLUGIN.glob("*.php"):
        assert subprocess.run(["php", "-l", file], capture_output=True, check=False).returncode == 0, file
