"""Appeals of blocked visitors, the owners' decisions, and the labels that follow."""
