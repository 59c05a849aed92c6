"""A customer's account: what it is called, what state it is in, how much it may have."""
