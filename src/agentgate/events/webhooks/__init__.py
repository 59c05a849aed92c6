"""Webhooks: decisions and changes of health, pushed to an address of the site's choice, signed and retried."""
