"""The self-test: before a listener opens, functions that security depends on are compared with known results."""
