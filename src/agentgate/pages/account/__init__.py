"""The front doors and the account pages: server-rendered forms that work without script."""
