"""`agentgate mcp`: a Model Context Protocol server over the console API. Changes need a person's yes."""
