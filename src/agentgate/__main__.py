"""The `agentgate` command, and `python -m agentgate`."""

import sys
from importlib import import_module


def main() -> None:
    """Run the command of this process's arguments and exit."""
    if sys.argv[1:2] == ["serve"]:
        # Before anything else is loaded.
        import_module("agentgate.server.hot_libraries")
    try:
        command_line = import_module("agentgate.server.cli")
    except ModuleNotFoundError:
        if sys.argv[1:2] != ["selftest"]:
            raise
        # An interpreter without our dependencies is checked as far as its imports allow.
        sys.exit(import_module("agentgate.server.selftest.check").main())
    command_line.main()


# Worker processes import this module again under another name, and must not start the command a second time.
if __name__ == "__main__":
    main()
