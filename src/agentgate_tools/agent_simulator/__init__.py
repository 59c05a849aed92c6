"""An agent that tries everything, good and bad: `agentgate agent-sim`."""
