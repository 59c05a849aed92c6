"""The body that makes a webhook."""

HOOK = {"url": "https://hooks.invalid/gate", "events": ["decisions"]}
