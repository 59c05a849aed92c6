<?php
/** Removes the settings with the plug-in: the secret must not outlive it. */

if (!defined('WP_UNINSTALL_PLUGIN')) {
    exit;
}
delete_option('agentgate');
delete_transient('agentgate_broken');
