<?php
/** The check in each form, and what happens to a form without a good token. */

declare(strict_types=1);

namespace AgentGate\WordPress;

use AgentGate\Client;
use AgentGate\Unavailable;
use AgentGate\VerificationFailed;

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

    /** What was decided in this request, by form: WordPress calls some hooks twice, and a token is spent once. */
    private static array $decided = [];

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
            // After the password was looked at, so that a wrong one and a missing token are told alike to programs.
            add_filter('authenticate', [self::class, 'onAuthenticate'], 99, 2);
        }
        if (Settings::protects('register')) {
            add_action('register_form', static fn () => self::show('register'));
            add_filter('registration_errors', static fn ($errors) => self::addTo($errors, 'register'), 10, 1);
        }
        if (Settings::protects('lostpassword')) {
            add_action('lostpassword_form', static fn () => self::show('lostpassword'));
            add_action('lostpassword_post', static fn ($errors) => self::addTo($errors, 'lostpassword'), 10, 1);
        }
    }

    private static function comments(): void
    {
        if (!Settings::protects('comment')) {
            return;
        }
        add_filter('comment_form_submit_field', static fn (string $html): string => self::widget('comment') . $html);
        add_filter('preprocess_comment', [self::class, 'onComment'], 1);
    }

    private static function shop(): void
    {
        if (Settings::protects('login')) {
            add_action('woocommerce_login_form', static fn () => self::show('login'));
        }
        if (Settings::protects('register')) {
            add_action('woocommerce_register_form', static fn () => self::show('register'));
            add_filter('woocommerce_registration_errors', static fn ($errors) => self::addTo($errors, 'register'), 10, 1);
        }
        if (Settings::protects('lostpassword')) {
            add_action('woocommerce_lostpassword_form', static fn () => self::show('lostpassword'));
        }
        if (Settings::protects('checkout')) {
            add_action('woocommerce_review_order_before_submit', static fn () => self::show('checkout'));
            add_action('woocommerce_after_checkout_validation', static function ($data, $errors): void {
                self::addTo($errors, 'checkout');
            }, 10, 2);
        }
    }

    private static function contact(): void
    {
        if (!Settings::protects('contact')) {
            return;
        }
        add_filter('wpcf7_form_elements', static fn (string $html): string => self::beforeSubmit($html, self::widget('contact')));
        // True means spam: the mail is not sent, and the visitor is told that it was not.
        add_filter('wpcf7_spam', static fn (bool $spam): bool => $spam || self::problem('contact') !== null, 9, 1);
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
            '<div class="agentgate" data-sitekey="%s" data-action="%s"></div>',
            esc_attr(Settings::siteKey()),
            esc_attr(self::ACTIONS[$form])
        );
    }

    /** @param mixed $user */
    public static function onAuthenticate($user, string $name = '')
    {
        // Only the forms of a page: a sign-in by cookie, an application password or a program's own call has no form.
        if (!isset($_POST['log']) && !isset($_POST['username'])) {
            return $user;
        }
        if ($name === '' || $user instanceof \WP_Error) {
            return $user;
        }
        $problem = self::problem('login');
        return $problem === null ? $user : new \WP_Error('agentgate', $problem);
    }

    public static function onComment(array $comment): array
    {
        $kind = $comment['comment_type'] ?? '';
        // Who may moderate is known already; pingbacks have no form.
        if (in_array($kind, ['pingback', 'trackback'], true) || current_user_can('moderate_comments')) {
            return $comment;
        }
        $problem = self::problem('comment');
        if ($problem !== null) {
            wp_die(esc_html($problem), esc_html__('Comment not sent', 'agentgate'), ['response' => 403, 'back_link' => true]);
        }
        return $comment;
    }

    /** @param mixed $errors a WP_Error, or nothing @return mixed */
    public static function addTo($errors, string $form)
    {
        $problem = self::problem($form);
        if ($problem !== null && $errors instanceof \WP_Error) {
            $errors->add('agentgate', $problem);
        }
        return $errors;
    }

    /** What to tell somebody whose form is not taken; null when it is. */
    public static function problem(string $form): ?string
    {
        if (!array_key_exists($form, self::$decided)) {
            self::$decided[$form] = self::decide($form);
        }
        return self::$decided[$form];
    }

    private static function decide(string $form): ?string
    {
        $sent = $_POST[Client::FIELD] ?? null;
        $token = is_string($sent) ? wp_unslash($sent) : null;
        try {
            $client = new Client(Settings::url(), Settings::secret());
            $client->verify($token, self::ACTIONS[$form], ['expectedOrigin' => Settings::origin()]);
            return null;
        } catch (VerificationFailed $refused) {
            return __('The check of your browser has not passed. Load the page again and send the form once more.', 'agentgate');
        } catch (Unavailable $away) {
            if (Settings::failOpen()) {
                return null;
            }
            return __('The check of your browser is away for a moment. Send the form again.', 'agentgate');
        }
    }

    private static function beforeSubmit(string $html, string $widget): string
    {
        $place = stripos($html, 'type="submit"');
        $start = $place === false ? false : strrpos(substr($html, 0, $place), '<');
        return $start === false ? $html . $widget : substr($html, 0, $start) . $widget . substr($html, $start);
    }

    /** For tests: forget what this request has decided. */
    public static function forget(): void
    {
        self::$decided = [];
    }
}
