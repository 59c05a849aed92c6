"""From a request to a decision, and its configuration. Read gateway, signals, scoring, rules, decision."""
