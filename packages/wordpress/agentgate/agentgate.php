<?php
/**
 * Plugin Name: AgentGate
 * Description: Protects the forms of a site with AgentGate's browser check: sign-in, registration, lost password, comments, WooCommerce, Contact Form 7.
 * Version: 0.1.0
 * Requires at least: 5.9
 * Requires PHP: 7.4
 * License: Apache-2.0
 * Text Domain: agentgate
 */

declare(strict_types=1);

if (!defined('ABSPATH')) {
    exit;
}

require_once __DIR__ . '/client.php';
require_once __DIR__ . '/check.php';
require_once __DIR__ . '/sign-in.php';
require_once __DIR__ . '/forms.php';
require_once __DIR__ . '/settings.php';

add_action('init', static function (): void {
    load_plugin_textdomain('agentgate', false, dirname(plugin_basename(__FILE__)) . '/languages');
});

if (is_admin()) {
    AgentGate\WordPress\Settings::register();
}
AgentGate\WordPress\Forms::register();
