"""Reading what was recorded: metrics, visitors, decisions, analytics."""
