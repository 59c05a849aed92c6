"""Users of the service: identity, accounts, audit trail, outbox, feedback."""
