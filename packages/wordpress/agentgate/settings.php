<?php
/** The settings: constants of wp-config.php win over the page, so that the secret need not be in the database. */

declare(strict_types=1);

namespace AgentGate\WordPress;

if (!defined('ABSPATH')) {
    exit;
}

final class Settings
{
    public const OPTION = 'agentgate';

    /** As the client takes it. */
    private const ADDRESS = '~\Ahttps?://[^/?#@\s]+(/[^?#\s]*)?\z~';
    private const CONSTANTS = ['url' => 'AGENTGATE_URL', 'site_key' => 'AGENTGATE_SITE_KEY', 'secret' => 'AGENTGATE_SECRET'];

    public static function register(): void
    {
        add_action('admin_init', static function (): void {
            register_setting(self::OPTION, self::OPTION, ['type' => 'array', 'sanitize_callback' => [self::class, 'clean']]);
        });
        add_action('admin_menu', static function (): void {
            add_options_page('AgentGate', 'AgentGate', 'manage_options', self::OPTION, [self::class, 'page']);
        });
        add_action('admin_notices', [self::class, 'warn']);
        add_filter('plugin_action_links_' . plugin_basename(__DIR__ . '/agentgate.php'), [self::class, 'link']);
    }

    /** @param array<string> $links @return array<string> the links of the plug-in's row, with its settings first */
    public static function link(array $links): array
    {
        return array_merge([self::anchor(__('Settings', 'agentgate'))], $links);
    }

    private static function anchor(string $text): string
    {
        return sprintf('<a href="%s">%s</a>', esc_url(admin_url('options-general.php?page=' . self::OPTION)), esc_html($text));
    }

    /** Tells administrators that no form is protected, or that no token can be checked. */
    public static function warn(): void
    {
        if (!current_user_can('manage_options')) {
            return;
        }
        if (!self::isComplete()) {
            $text = self::isOff()
                ? __('AgentGate is turned off by AGENTGATE_OFF in wp-config.php. No form is protected.', 'agentgate')
                : __('AgentGate is active, but not configured. No form is protected.', 'agentgate');
            printf(
                '<div class="notice notice-warning"><p>%s %s</p></div>',
                esc_html($text),
                self::anchor(__('Configure AgentGate', 'agentgate'))
            );
        } elseif (get_transient(Check::BROKEN) !== false) {
            $text = __('AgentGate rejects the secret, or the address is invalid. All protected forms are blocked, and only administrators can sign in. Correct the settings.', 'agentgate');
            printf('<div class="notice notice-error"><p>%s</p></div>', esc_html($text));
        }
    }

    private static function complain(string $field, string $text): void
    {
        add_settings_error(self::OPTION, $field, $text);
    }

    public static function url(): string
    {
        return rtrim(self::value('url'), '/');
    }

    public static function siteKey(): string
    {
        return self::value('site_key');
    }

    public static function secret(): string
    {
        return self::value('secret');
    }

    public static function failOpen(): bool
    {
        return defined('AGENTGATE_FAIL_OPEN') ? (bool) AGENTGATE_FAIL_OPEN : !empty(self::all()['fail_open']);
    }

    public static function protects(string $form): bool
    {
        $forms = self::all()['forms'] ?? array_keys(Forms::ACTIONS);
        return in_array($form, (array) $forms, true);
    }

    /** The origin of this site's pages, as browsers name it. */
    public static function origin(): string
    {
        $parts = wp_parse_url(home_url());
        $port = isset($parts['port']) ? ':' . $parts['port'] : '';
        return strtolower($parts['scheme'] . '://' . $parts['host']) . $port;
    }

    /** The way back in for an owner who has locked everybody out. */
    private static function isOff(): bool
    {
        return defined('AGENTGATE_OFF') && AGENTGATE_OFF;
    }

    public static function isComplete(): bool
    {
        return !self::isOff() && self::url() !== '' && self::siteKey() !== '' && self::secret() !== '';
    }

    /** @param mixed $given @return array<string, mixed> */
    public static function clean($given): array
    {
        $given = is_array($given) ? $given : [];
        $old = self::all();
        $url = trim((string) ($given['url'] ?? ''));
        if ($url !== '' && !preg_match(self::ADDRESS, $url)) {
            self::complain('url', __('The address must look like https://gate.example, without ? and #.', 'agentgate'));
            $url = (string) ($old['url'] ?? '');
        }
        $key = preg_replace('/[^A-Za-z0-9_-]/', '', (string) ($given['site_key'] ?? ''));
        $secret = preg_replace('/[^\x21-\x7e]/', '', (string) ($given['secret'] ?? ''));
        if ($url !== '' && !preg_match('/\Asite_/', (string) $key)) {
            self::complain('site_key', __('The site key must start with site_.', 'agentgate'));
        }
        // The page never shows the secret; an empty field keeps the old one.
        $secret = $secret !== '' ? $secret : (string) ($old['secret'] ?? '');
        $answer = $url === '' || $secret === '' ? 'ok' : Check::probe($url, $secret);
        if ($answer === 'invalid_credential') {
            self::complain('secret', __('AgentGate rejects this secret. The previous secret is kept.', 'agentgate'));
            $secret = (string) ($old['secret'] ?? '');
        } elseif ($answer === 'unavailable') {
            self::complain('url', __('AgentGate is not reachable at this address. Check the address before you sign out.', 'agentgate'));
        } else {
            delete_transient(Check::BROKEN);
        }
        return [
            'url' => $url,
            'site_key' => $key,
            'secret' => $secret,
            'forms' => array_values(array_intersect(array_keys(Forms::ACTIONS), (array) ($given['forms'] ?? []))),
            'fail_open' => !empty($given['fail_open']),
        ];
    }

    public static function page(): void
    {
        $forms = [
            'login' => __('Sign-in', 'agentgate'),
            'register' => __('Registration', 'agentgate'),
            'lostpassword' => __('Lost password', 'agentgate'),
            'comment' => __('Comments', 'agentgate'),
            'checkout' => __('WooCommerce checkout', 'agentgate'),
            'contact' => __('Contact Form 7', 'agentgate'),
        ];
        echo '<div class="wrap"><h1>AgentGate</h1><form method="post" action="options.php">';
        settings_fields(self::OPTION);
        echo '<table class="form-table" role="presentation">';
        self::row('url', __('AgentGate address', 'agentgate'), 'url', self::url(), 'https://gate.example');
        self::row('site_key', __('Site key', 'agentgate'), 'text', self::siteKey(), 'site_...');
        self::row('secret', __('Secret', 'agentgate'), 'password', '', self::secret() === '' ? 'ags_...' : __('unchanged', 'agentgate'));
        echo '<tr><th scope="row">' . esc_html__('Forms', 'agentgate') . '</th><td>';
        foreach ($forms as $form => $label) {
            printf(
                '<p><label><input type="checkbox" name="agentgate[forms][]" value="%s"%s> %s</label></p>',
                esc_attr($form),
                checked(self::protects($form), true, false),
                esc_html($label)
            );
        }
        printf(
            '</td></tr><tr><th scope="row">%s</th><td><label><input type="checkbox" name="agentgate[fail_open]" value="1"%s> %s</label></td></tr></table>',
            esc_html__('If AgentGate is unavailable', 'agentgate'),
            checked(self::failOpen(), true, false),
            esc_html__('Accept forms without a check (fail open)', 'agentgate')
        );
        submit_button();
        echo '</form></div>';
    }

    private static function row(string $name, string $label, string $type, string $value, string $hint): void
    {
        $fixed = defined(self::CONSTANTS[$name]);
        printf(
            '<tr><th scope="row"><label for="ag-%1$s">%2$s</label></th><td><input class="regular-text" id="ag-%1$s" name="agentgate[%1$s]" type="%3$s" value="%4$s" placeholder="%5$s" autocomplete="off"%6$s></td></tr>',
            esc_attr($name),
            esc_html($label),
            esc_attr($type),
            esc_attr($value),
            esc_attr($fixed ? self::CONSTANTS[$name] . ' (wp-config.php)' : $hint),
            $fixed ? ' disabled' : ''
        );
    }

    /** @return array<string, mixed> */
    private static function all(): array
    {
        $kept = get_option(self::OPTION, []);
        return is_array($kept) ? $kept : [];
    }

    private static function value(string $name): string
    {
        $constant = self::CONSTANTS[$name];
        return trim((string) (defined($constant) ? constant($constant) : (self::all()[$name] ?? '')));
    }
}
