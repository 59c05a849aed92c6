<?php
/**
 * Stands in for WooCommerce, which is not installed: the documented hooks in its order of calls, and the routes of the Store API.
 * What the plug-in answers is WordPress' and the plug-in's own.
 */

add_action('rest_api_init', static function (): void {
    $place = static fn (WP_REST_Request $request) => ['order' => 1, 'route' => $request->get_route()];
    foreach (['v1', ''] as $version) {
        $space = rtrim('wc/store/' . $version, '/');
        foreach (['/checkout', '/checkout/(?P<id>\\d+)'] as $route) {
            register_rest_route($space, $route, [
                ['methods' => 'GET,POST,PUT', 'callback' => $place, 'permission_callback' => '__return_true'],
            ]);
        }
        register_rest_route($space, '/cart', [
            ['methods' => 'GET,POST', 'callback' => $place, 'permission_callback' => '__return_true'],
        ]);
        register_rest_route($space, '/batch', [['methods' => 'POST', 'permission_callback' => '__return_true',
            'callback' => static function (WP_REST_Request $request) {
                $asked = static fn (array $one) => rest_do_request(new WP_REST_Request('POST', $one['path']))->get_data();
                return array_map($asked, $request['requests']);
            }]]);
    }
});

/** As wc_create_new_customer() does. */
function stand_in_register(): bool
{
    $errors = apply_filters('woocommerce_registration_errors', new WP_Error(), 'cleo', 'cleo@example.com');
    return !$errors->has_errors();
}

function wc_add_notice(string $text, string $kind): void
{
    $GLOBALS['stand_in_notices'][] = $kind;
}

add_action('init', static function (): void {
    switch ($_GET['stand-in'] ?? '') {
        case 'checkout':
            $errors = new WP_Error();
            do_action('woocommerce_after_checkout_validation', [], $errors);
            $placed = !$errors->has_errors();
            // An account that is made with the order.
            wp_send_json(['placed' => $placed, 'account' => $placed && stand_in_register()]);
            // no break: wp_send_json ends the request
        case 'register':
            wp_send_json(['account' => stand_in_register()]);
            // no break
        case 'pay':
            do_action('woocommerce_before_pay_action', null);
            wp_send_json(['paid' => empty($GLOBALS['stand_in_notices'])]);
            // no break
        case 'login':
            $user = wp_signon(['user_login' => $_POST['username'], 'user_password' => $_POST['password']]);
            wp_send_json(['user' => is_wp_error($user) ? $user->get_error_code() : $user->user_login]);
            // no break
        case 'logins':
            // As a plug-in does that takes several operations in one request.
            wp_send_json(array_map(static function (string $password) {
                $user = wp_signon(['user_login' => $_POST['username'], 'user_password' => wp_unslash($password)]);
                return is_wp_error($user) ? $user->get_error_code() : $user->user_login;
            }, $_POST['passwords']));
            // no break
        case 'block':
            wp_head();
            do_action('woocommerce_blocks_enqueue_checkout_block_scripts_after');
            wp_print_scripts();
            exit;
    }
}, 20);
