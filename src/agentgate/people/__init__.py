"""Who uses the service: identity, accounts; audit (what they did), outbox (what they are told), feedback."""
