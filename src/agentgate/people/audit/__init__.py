"""The audit trail: actor, time, and values before and after each change."""
