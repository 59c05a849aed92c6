<?php
/** The decision about a form: its token is redeemed once per request. */

declare(strict_types=1);

namespace AgentGate\WordPress;

use AgentGate\Client;
use AgentGate\Unavailable;
use AgentGate\VerificationFailed;

if (!defined('ABSPATH')) {
    exit;
}

final class Check
{
    /** Set for an hour after the service rejected the secret; administrators see a notice meanwhile. */
    public const BROKEN = 'agentgate_broken';

    private const HEADER = 'HTTP_X_AGENTGATE_TOKEN';
    /** Has the form of a token and is none: the answer shows whether the service is reachable and knows the secret. */
    private const NO_TOKEN = 'none.none.none';

    /** What was decided in this request, by form: WordPress calls some hooks twice, and a token is good once. */
    private static array $decided = [];
    /** What the token of this request was used for, by form. */
    private static array $subjects = [];
    private static bool $broken = false;

    /** Returns the error to show if the form is not accepted; null if it is. */
    public static function problem(string $form): ?string
    {
        if (!array_key_exists($form, self::$decided)) {
            self::$decided[$form] = self::decide($form);
        }
        return self::$decided[$form];
    }

    /**
     * As `problem`, where one request can contain several sign-ins or orders (batch, multicall): its token is good for one.
     *
     * @param mixed $subject what tells one from another
     */
    public static function problemOfOne(string $form, $subject): ?string
    {
        self::$subjects[$form] = self::$subjects[$form] ?? $subject;
        return self::$subjects[$form] === $subject ? self::problem($form) : self::notPassed();
    }

    /** Whether the form was checked in this request and accepted. */
    public static function hasPassed(string $form): bool
    {
        return array_key_exists($form, self::$decided) && self::$decided[$form] === null;
    }

    /** Whether no token can be checked until an administrator corrects the address or the secret. */
    public static function isBroken(): bool
    {
        return self::$broken;
    }

    /** Returns `ok`, `invalid_credential` or `unavailable`, for the settings page. */
    public static function probe(string $url, string $secret): string
    {
        try {
            (new Client($url, $secret, 1.0, 0))->verify(self::NO_TOKEN, Forms::ACTIONS['login']);
            return 'ok';
        } catch (VerificationFailed $answered) {
            return $answered->errorCode === 'invalid_credential' ? 'invalid_credential' : 'ok';
        } catch (Unavailable | \InvalidArgumentException $away) {
            return 'unavailable';
        }
    }

    /** For tests: forget what this request has decided. */
    public static function forget(): void
    {
        self::$decided = [];
        self::$subjects = [];
        self::$broken = false;
    }

    private static function decide(string $form): ?string
    {
        try {
            $client = new Client(Settings::url(), Settings::secret());
            $client->verify(self::token(), Forms::ACTIONS[$form], ['expectedOrigin' => Settings::origin()]);
            delete_transient(self::BROKEN);
            return null;
        } catch (VerificationFailed $refused) {
            if ($refused->errorCode === 'invalid_credential') {
                return self::broken();
            }
            // Without the service, browsers have no token to send. Only this server's own view of the service opens the
            // form: what the client sends, or omits, does not.
            if (Settings::failOpen() && self::probe(Settings::url(), Settings::secret()) === 'unavailable') {
                return null;
            }
            return self::notPassed();
        } catch (Unavailable $away) {
            if (Settings::failOpen()) {
                return null;
            }
            return __('The browser check is unavailable. Send the form again in a minute.', 'agentgate');
        } catch (\InvalidArgumentException $wrong) {
            return self::broken();
        }
    }

    private static function notPassed(): string
    {
        return __('The browser check did not pass. Reload the page and send the form again.', 'agentgate');
    }

    private static function broken(): string
    {
        self::$broken = true;
        if (get_transient(self::BROKEN) === false) {
            set_transient(self::BROKEN, 1, HOUR_IN_SECONDS);
        }
        return __('The browser check of this site is misconfigured. Contact the site\'s administrator.', 'agentgate');
    }

    private static function token(): ?string
    {
        $sent = $_POST[Client::FIELD] ?? $_SERVER[self::HEADER] ?? null;
        return is_string($sent) ? wp_unslash($sent) : null;
    }
}
