"""Signed requests (RFC 9421, Web Bot Auth): written, read, verified, and with keys that are fetched safely."""
