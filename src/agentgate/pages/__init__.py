"""Pages for people in a browser: consoles, account pages, documentation, API reference, and the SDK's files."""
