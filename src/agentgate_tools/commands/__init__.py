"""The commands that are clients or tools: remote commands, MCP, doctor, simulator, training."""
