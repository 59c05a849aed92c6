"""Messages to people: stored, delivered, deleted."""
