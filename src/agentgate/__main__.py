"""`python -m agentgate`: the same as the `agentgate` command."""

from agentgate.server.cli import main

# Worker processes import this module again under another name, and must not start the command a second time.
if __name__ == "__main__":
    main()
