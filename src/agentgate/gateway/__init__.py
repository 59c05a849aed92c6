"""The gateway: a decision for every request of a protected site, asked for by the proxy in front of it."""
