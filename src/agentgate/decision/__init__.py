"""The decision: signals, scores, rules, mode. Pure and synchronous."""
