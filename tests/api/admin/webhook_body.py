"""The request body that creates a webhook."""

HOOK = {"url": "https://hooks.invalid/gate", "events": ["decisions"]}
