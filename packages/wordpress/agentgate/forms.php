<?php
/** The check in each form, and the refusal of a form without a good token. */

declare(strict_types=1);

namespace AgentGate\WordPress;

if (!defined('ABSPATH')) {
    exit;
}

final class Forms
{
    /** Form => its action at AgentGate; the site needs these actions. */
    public const ACTIONS = [
        'login' => 'login',
        'register' => 'register',
        'lostpassword' => 'lost_password',
        'comment' => 'comment',
        'checkout' => 'checkout',
        'contact' => 'contact',
    ];

    public static function register(): void
    {
        if (!Settings::isComplete()) {
            return;
        }
        add_action('wp_enqueue_scripts', [self::class, 'registerScript']);
        add_action('login_enqueue_scripts', [self::class, 'registerScript']);
        self::accounts();
        self::comments();
        self::shop();
        self::contact();
    }

    private static function accounts(): void
    {
        if (Settings::protects('login')) {
            add_action('login_form', static fn () => self::show('login'));
            add_filter('login_form_middle', static fn (string $html): string => $html . self::widget('login'));
            SignIn::register();
        }
        if (Settings::protects('register')) {
            add_action('register_form', static fn () => self::show('register'));
            add_filter('registration_errors', static fn ($errors) => self::addTo($errors, 'register'), 10, 1);
        }
        if (Settings::protects('lostpassword')) {
            add_action('lostpassword_form', static fn () => self::show('lostpassword'));
            add_action('lostpassword_post', [self::class, 'onLostPassword'], 10, 1);
        }
    }

    private static function comments(): void
    {
        if (!Settings::protects('comment')) {
            return;
        }
        add_filter('comment_form_submit_field', static fn (string $html): string => self::widget('comment') . $html);
        add_filter('preprocess_comment', [self::class, 'onComment'], 1);
        add_filter('rest_pre_insert_comment', [self::class, 'onRestComment'], 1);
    }

    private static function shop(): void
    {
        if (Settings::protects('login')) {
            add_action('woocommerce_login_form', static fn () => self::show('login'));
        }
        if (Settings::protects('register')) {
            add_action('woocommerce_register_form', static fn () => self::show('register'));
            add_filter('woocommerce_registration_errors', [self::class, 'onShopRegistration'], 10, 1);
        }
        if (Settings::protects('lostpassword')) {
            add_action('woocommerce_lostpassword_form', static fn () => self::show('lostpassword'));
        }
        if (Settings::protects('checkout')) {
            add_action('woocommerce_review_order_before_submit', static fn () => self::show('checkout'));
            add_action('woocommerce_after_checkout_validation', static function ($data, $errors): void {
                self::addTo($errors, 'checkout');
            }, 10, 2);
            add_action('woocommerce_pay_order_before_submit', static fn () => self::show('checkout'));
            add_action('woocommerce_before_pay_action', [self::class, 'onPayment']);
            add_action('woocommerce_blocks_enqueue_checkout_block_scripts_after', [self::class, 'addToCheckoutBlock']);
            add_filter('rest_request_before_callbacks', [self::class, 'onStoreApi'], 1, 3);
        }
    }

    private static function contact(): void
    {
        if (!Settings::protects('contact')) {
            return;
        }
        add_filter('wpcf7_form_elements', static fn (string $html): string => self::beforeSubmit($html, self::widget('contact')));
        // True means spam: the mail is not sent, and the visitor is told that it was not.
        add_filter('wpcf7_spam', static fn (bool $spam): bool => $spam || Check::problem('contact') !== null, 9, 1);
    }

    public static function registerScript(): void
    {
        wp_register_script('agentgate', Settings::url() . '/sdk/v1/agentgate.js', [], null, false);
    }

    public static function show(string $form): void
    {
        echo self::widget($form); // phpcs:ignore -- escaped below
    }

    public static function widget(string $form): string
    {
        if (!wp_script_is('agentgate', 'registered')) {
            self::registerScript();
        }
        wp_enqueue_script('agentgate');
        return sprintf(
            '<div class="agentgate" data-sitekey="%s" data-action="%s"></div><noscript><p>%s</p></noscript>',
            esc_attr(Settings::siteKey()),
            esc_attr(self::ACTIONS[$form]),
            esc_html__('This form needs JavaScript. Enable it and reload the page.', 'agentgate')
        );
    }

    public static function onComment(array $comment): array
    {
        $kind = $comment['comment_type'] ?? '';
        // WordPress has read the page that a pingback comes from. A trackback is anybody's text, and has no form.
        if ($kind === 'pingback' || self::mayComment((int) ($comment['comment_post_ID'] ?? 0))) {
            return $comment;
        }
        $problem = $kind === 'trackback' ? __('Trackbacks are not accepted.', 'agentgate') : Check::problem('comment');
        if ($problem !== null) {
            wp_die(esc_html($problem), esc_html__('Comment not sent', 'agentgate'), ['response' => 403, 'back_link' => true]);
        }
        return $comment;
    }

    /** @param mixed $comment @return mixed */
    public static function onRestComment($comment)
    {
        if (!is_array($comment) || self::mayComment((int) ($comment['comment_post_ID'] ?? 0))) {
            return $comment;
        }
        return self::asError(Check::problem('comment')) ?? $comment;
    }

    /** Whether the user needs no check: moderators, authors at their own posts, programs with an application password. */
    private static function mayComment(int $post): bool
    {
        return current_user_can('moderate_comments') || current_user_can('edit_post', $post) || self::hasApplicationPassword();
    }

    public static function hasApplicationPassword(): bool
    {
        return did_action('application_password_did_authenticate') > 0;
    }

    /** @param mixed $errors */
    public static function onLostPassword($errors): void
    {
        // An administrator who sends a user a link has no form of this kind.
        if (!current_user_can('edit_users')) {
            self::addTo($errors, 'lostpassword');
        }
    }

    /** @param mixed $errors @return mixed */
    public static function onShopRegistration($errors)
    {
        // An account that is made with an order: the order has been checked.
        return Check::hasPassed('checkout') ? $errors : self::addTo($errors, 'register');
    }

    /** A customer pays an order on its own page. An error keeps WooCommerce from starting the payment. */
    public static function onPayment(): void
    {
        $problem = Check::problem('checkout');
        if ($problem !== null) {
            wc_add_notice(esc_html($problem), 'error');
        }
    }

    /** @param mixed $response @param mixed $handler @return mixed */
    public static function onStoreApi($response, $handler, \WP_REST_Request $request)
    {
        $places = preg_match('~^/wc/store(/v\d+)?/checkout(/|$)~i', $request->get_route()) && $request->get_method() === 'POST';
        // One batch request can contain several orders.
        return $places ? self::asError(Check::problemOfOne('checkout', $request)) ?? $response : $response;
    }

    public static function addToCheckoutBlock(): void
    {
        self::registerScript();
        wp_enqueue_script('agentgate-checkout', plugins_url('checkout.js', __FILE__), ['agentgate', 'wp-api-fetch'], null, true);
        $facts = wp_json_encode(['sitekey' => Settings::siteKey(), 'action' => self::ACTIONS['checkout']]);
        wp_add_inline_script('agentgate-checkout', "window.agentgateCheckout = $facts;", 'before');
    }

    private static function asError(?string $problem): ?\WP_Error
    {
        return $problem === null ? null : new \WP_Error('agentgate', $problem, ['status' => 403]);
    }

    /** @param mixed $errors a WP_Error, or nothing @return mixed */
    public static function addTo($errors, string $form)
    {
        $problem = Check::problem($form);
        if ($problem !== null && $errors instanceof \WP_Error) {
            // The only error: the others would show programs which names and addresses are taken.
            foreach ($errors->get_error_codes() as $code) {
                $errors->remove($code);
            }
            $errors->add('agentgate', $problem);
        }
        return $errors;
    }

    private static function beforeSubmit(string $html, string $widget): string
    {
        $place = stripos($html, 'type="submit"');
        $start = $place === false ? false : strrpos(substr($html, 0, $place), '<');
        return $start === false ? $html . $widget : substr($html, 0, $start) . $widget . substr($html, $start);
    }
}
