"""Configuration of the proxies that ask the gateway: the texts, and how they are filled in. `deploy/` holds copies."""
