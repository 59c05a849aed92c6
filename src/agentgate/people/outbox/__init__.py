"""Messages to people: kept, delivered, forgotten."""
