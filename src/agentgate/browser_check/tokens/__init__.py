"""Everything signed: browser tokens, agent and handoff receipts, the keys they are signed with, redeeming them once."""
