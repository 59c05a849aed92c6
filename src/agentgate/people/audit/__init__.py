"""The audit trail: who changed what, when, and from what to what."""
