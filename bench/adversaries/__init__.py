"""The lab: real automation and people-like visitors against the real service, on loopback. See docs/lab.md."""
