"""The handlers of accounts: what a user does for themselves, and what a member does for an account."""
