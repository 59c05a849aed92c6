<?php
/**
 * AgentGate: redeems tokens of the browser check. One file, PHP 7.4 or newer, no dependencies; curl is not needed.
 *
 * A lost answer is asked for again under the same request ID, so that a token is never spent without your hearing of it.
 */

declare(strict_types=1);

namespace AgentGate;

/** A token was not accepted. `code` is stable: `invalid_token`, `expired_token`, `token_used`, `action_mismatch`, ... */
final class VerificationFailed extends \RuntimeException
{
    public string $errorCode;

    public function __construct(string $errorCode, string $message)
    {
        parent::__construct($message);
        $this->errorCode = $errorCode;
    }

    /** What to show to the visitor; the message of the exception is for your log. */
    public function visitorMessage(): string
    {
        switch ($this->errorCode) {
            case 'receipt_required':
                return 'The browser check is missing. Enable JavaScript, reload the page and try again.';
            case 'expired_token':
                return 'The browser check has expired. Reload the page and try again.';
            case 'token_used':
                return 'This form was already sent. Reload the page to send it again.';
            default:
                return 'The browser check was not accepted. Reload the page and try again.';
        }
    }
}

/** Nobody could tell whether the token is good. Ask again with the same request ID. */
final class Unavailable extends \RuntimeException
{
    public string $requestId;

    public function __construct(string $requestId, string $message)
    {
        parent::__construct($message);
        $this->requestId = $requestId;
    }
}

final class Client
{
    public const FIELD = 'agentgate-token';

    private const TOKEN = '/\A[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\z/';
    private const MOST_TOKEN = 4096;
    private const FIRST_PAUSE_US = 50000;

    private string $url;
    private string $secret;
    private float $timeout;
    private int $retries;

    /** @param string $url the service's address, such as https://gate.example; @param string $secret begins with ags_ */
    public function __construct(string $url, string $secret, float $timeout = 1.0, int $retries = 2)
    {
        if (!preg_match('~\Ahttps?://[^/?#@\s]+(/[^?#\s]*)?\z~', $url)) {
            throw new \InvalidArgumentException("$url is not the address of a service; give one such as https://gate.example");
        }
        // A line break would end the header that carries it.
        if (!preg_match('/\A[\x21-\x7e]+\z/', $secret)) {
            throw new \InvalidArgumentException('the secret is empty or holds characters that no secret has');
        }
        $this->url = rtrim($url, '/') . '/v1/siteverify';
        $this->secret = $secret;
        $this->timeout = $timeout;
        $this->retries = $retries;
    }

    /**
     * Redeems a token, once.
     *
     * @param array{requestId?: string, expectedOrigin?: string, remoteAddress?: string} $more
     * @return array<string, mixed> the service's answer: action, origin, visitorId, decisionId, requestId, ...
     * @throws VerificationFailed when the token is not accepted
     * @throws Unavailable when nobody can tell
     */
    public function verify(?string $token, string $expectedAction, array $more = []): array
    {
        if ($token === null || $token === '') {
            throw new VerificationFailed('receipt_required', 'There is no token: the browser check did not run.');
        }
        if (strlen($token) > self::MOST_TOKEN || !preg_match(self::TOKEN, $token)) {
            throw new VerificationFailed('invalid_token', 'The text is not a token.');
        }
        $asked = ['token' => $token, 'expectedAction' => $expectedAction] + $more + self::visitor();
        $asked += ['requestId' => bin2hex(random_bytes(16))];
        $pause = self::FIRST_PAUSE_US;
        for ($tried = 0;; $tried++, $pause *= 2) {
            try {
                return $this->ask($asked);
            } catch (Unavailable $problem) {
                if ($tried >= $this->retries) {
                    throw $problem;
                }
                // Many callers that failed together must not come back together.
                usleep(random_int(intdiv($pause, 2), $pause + intdiv($pause, 2)));
            }
        }
    }

    /** @return array{remoteAddress?: string} the visitor's address; nothing for a proxy's on a private network */
    private static function visitor(): array
    {
        // The second one is newer than PHP 8.1.
        $public = FILTER_FLAG_NO_PRIV_RANGE | FILTER_FLAG_NO_RES_RANGE;
        $public |= defined('FILTER_FLAG_GLOBAL_RANGE') ? constant('FILTER_FLAG_GLOBAL_RANGE') : 0;
        $address = filter_var($_SERVER['REMOTE_ADDR'] ?? '', FILTER_VALIDATE_IP, $public);
        return $address === false ? [] : ['remoteAddress' => $address];
    }

    /** @param array<string, string> $asked @return array<string, mixed> */
    private function ask(array $asked): array
    {
        $context = stream_context_create([
            'http' => [
                'method' => 'POST',
                'header' => "Content-Type: application/json\r\nAuthorization: Bearer {$this->secret}\r\nConnection: close",
                'content' => json_encode($asked, JSON_THROW_ON_ERROR),
                'timeout' => $this->timeout,
                'ignore_errors' => true,
                'follow_location' => 0,
                'protocol_version' => 1.1,
            ],
            'ssl' => ['verify_peer' => true, 'verify_peer_name' => true],
        ]);
        $text = @file_get_contents($this->url, false, $context);
        if ($text === false || !isset($http_response_header[0])) {
            throw new Unavailable($asked['requestId'], 'no answer from the service');
        }
        $status = (int) (explode(' ', $http_response_header[0], 3)[1] ?? 0);
        $answer = json_decode($text, true);
        if ($status >= 500 || !is_array($answer)) {
            throw new Unavailable($asked['requestId'], "the service answered $status");
        }
        if ($status === 200 && ($answer['success'] ?? null) === true) {
            // Somebody in between must not pass another answer off as this one.
            if (($answer['action'] ?? null) !== $asked['expectedAction']) {
                throw new VerificationFailed('action_mismatch', 'The answer is about another action.');
            }
            return $answer;
        }
        $code = is_string($answer['error'] ?? null) ? $answer['error'] : 'invalid_token';
        throw new VerificationFailed($code, is_string($answer['message'] ?? null) ? $answer['message'] : 'The token was refused.');
    }
}
