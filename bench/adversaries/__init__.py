"""The lab: real automation and human-like visitors against the service on loopback. See docs/contributing/lab.md."""
