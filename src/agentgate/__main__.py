"""The `agentgate` command, and `python -m agentgate`."""

import sys
from importlib import import_module


def main() -> None:
    """Run the command of this process's arguments and exit."""
    if sys.argv[1:2] == ["serve"]:
        # Before anything else is loaded.
        import_module("agentgate.server.hot_libraries")
    import_module("agentgate.server.cli").main()


# Worker processes import this module again under another name, and must not start the command a second time.
if __name__ == "__main__":
    main()
