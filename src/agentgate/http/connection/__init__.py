"""One HTTP connection, from bytes to a judged request: limits, deadlines, fast functions, overload."""
