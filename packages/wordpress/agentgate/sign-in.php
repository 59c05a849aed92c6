<?php
/** Sign-in with a password: the token is checked first, and without one no password is looked at. */

declare(strict_types=1);

namespace AgentGate\WordPress;

if (!defined('ABSPATH')) {
    exit;
}

final class SignIn
{
    public static function register(): void
    {
        add_filter('authenticate', [self::class, 'before'], PHP_INT_MIN, 3);
        add_filter('authenticate', [self::class, 'after'], PHP_INT_MAX, 2);
    }

    /** @param mixed $user @return mixed */
    public static function before($user, string $name = '', $password = '')
    {
        if ($name === '') {
            // No password is checked: a cookie, or a page that was opened.
            return $user;
        }
        if (self::isXmlRpc()) {
            // Programs cannot run the check. They sign in with an application password, which nobody can guess.
            remove_filter('authenticate', 'wp_authenticate_username_password', 20);
            remove_filter('authenticate', 'wp_authenticate_email_password', 20);
            return $user;
        }
        $problem = Check::problemOfOne('login', [$name, $password]);
        if ($problem === null || Check::isBroken()) {
            return $user;
        }
        // Later filters check the password even if there is an error already. Without them, a right and a wrong password
        // get the same answer in the same time.
        remove_all_filters('authenticate');
        return new \WP_Error('agentgate', $problem);
    }

    /** @param mixed $user @return mixed */
    public static function after($user, string $name = '')
    {
        if ($name === '') {
            return $user;
        }
        if (self::isXmlRpc()) {
            return Forms::hasApplicationPassword() ? $user : self::refusal(__('Sign in with an application password.', 'agentgate'));
        }
        // While the settings are wrong, an administrator has to get in to correct them, and nobody else.
        if (Check::isBroken() && !($user instanceof \WP_User && user_can($user, 'manage_options'))) {
            return self::refusal((string) Check::problem('login'));
        }
        return $user;
    }

    private static function refusal(string $text): \WP_Error
    {
        return new \WP_Error('agentgate', $text);
    }

    private static function isXmlRpc(): bool
    {
        return defined('XMLRPC_REQUEST') && XMLRPC_REQUEST;
    }
}
