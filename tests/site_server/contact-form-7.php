<?php
/** Stands in for WordPress and Contact Form 7, which is not installed: its documented hooks, in the order of a submission. */

declare(strict_types=1);

[, $plugin, $given] = $argv;
$asked = json_decode($given, true);
define('ABSPATH', __DIR__);
define('HOUR_IN_SECONDS', 3600);
define('AGENTGATE_URL', $asked['url']);
define('AGENTGATE_SITE_KEY', $asked['siteKey']);
define('AGENTGATE_SECRET', $asked['secret']);
$hooks = [];

function add_filter(string $name, callable $call, int $priority = 10, int $count = 1): bool
{
    $GLOBALS['hooks'][$name][$priority][] = [$call, $count];
    return true;
}

function add_action(string $name, callable $call, int $priority = 10, int $count = 1): bool
{
    return add_filter($name, $call, $priority, $count);
}

/** @param mixed $value @param mixed ...$more @return mixed */
function apply_filters(string $name, $value, ...$more)
{
    $hooks = $GLOBALS['hooks'][$name] ?? [];
    ksort($hooks);
    foreach (array_merge([], ...$hooks) as [$call, $count]) {
        $value = $call(...array_slice([$value, ...$more], 0, $count));
    }
    return $value;
}

function is_admin(): bool { return false; }
function get_option(string $name, array $default): array { return ['forms' => ['contact']]; }
function home_url(): string { return $GLOBALS['asked']['origin']; }
function wp_parse_url(string $url): array { return parse_url($url); }
function wp_unslash(string $text): string { return stripslashes($text); }
function wp_script_is(string $name, string $state): bool { return true; }
function wp_enqueue_script(string $name): void {}
function get_transient(string $name): bool { return false; }
function set_transient(string $name, int $value, int $seconds): void {}
function delete_transient(string $name): void {}
function esc_attr(string $text): string { return htmlspecialchars($text, ENT_QUOTES); }
function esc_html__(string $text, string $domain): string { return esc_attr($text); }
function __(string $text, string $domain): string { return $text; }

require $plugin;

/** The status of a submission: first the fields, then whether it is spam, then the mail. */
function submit(array $sent): string
{
    $_POST = $sent['fields'];
    AgentGate\WordPress\Check::forget();
    if (($_POST['your-name'] ?? '') === '') {
        return 'validation_failed';
    }
    return apply_filters('wpcf7_spam', $sent['spam'] ?? false, new stdClass()) ? 'spam' : 'mail_sent';
}

$form = '<p><input type="text" name="your-name" /></p><p><input class="wpcf7-submit" type="submit" value="Send" /></p>';
echo json_encode([
    'form' => apply_filters('wpcf7_form_elements', $form),
    'statuses' => array_map('submit', $asked['sent']),
]);
