"""Progress of a running command on standard error: one changing line on a terminal, plain lines elsewhere."""

import sys
import time
from types import TracebackType
from typing import Self, TextIO

# Commands that end earlier show nothing.
QUIET_S = 2.0
TERMINAL_S, PLAIN_S = 0.1, 5.0
_CLEAR = "\r\x1b[K"


class Progress:
    """Shows steps from the second second on; a stage that may take long is shown at its begin."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._is_terminal = self._stream.isatty()
        self._next_s = time.monotonic() + QUIET_S
        self._is_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_open:
            self._stream.write(_CLEAR)
            self._stream.flush()

    def begin(self, text: str) -> None:
        """Show a stage now."""
        self._next_s = time.monotonic()
        self.show(text)

    def show(self, text: str) -> None:
        """Show a step, unless another one was shown just before."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + (TERMINAL_S if self._is_terminal else PLAIN_S)
        self._stream.write(f"{_CLEAR}{text}" if self._is_terminal else f"{text}\n")
        self._stream.flush()
        self._is_open = self._is_terminal
