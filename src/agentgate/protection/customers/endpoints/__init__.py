"""What operators do with accounts and their people, over HTTP."""
