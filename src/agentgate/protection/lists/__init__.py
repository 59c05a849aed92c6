"""Whom a site lets in or keeps out by name, before any rule: addresses, networks, programs, agents, visitors."""
