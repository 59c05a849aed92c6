"""A person decides for an agent: handoffs, their page, and grants."""
