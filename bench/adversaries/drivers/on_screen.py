"""Runs a program on a separate screen. Standard input and output are the program's."""

import os
import subprocess
import sys

from bench.adversaries.drivers.screen import virtual_screen


def main() -> None:
    """Run the command of the arguments."""
    with virtual_screen() as screen:
        done = subprocess.run(sys.argv[1:], env={**os.environ, "DISPLAY": screen}, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
