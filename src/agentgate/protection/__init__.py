"""From a request to a decision, and what is set up for it. Read gateway, signals, scoring, rules, decision."""
