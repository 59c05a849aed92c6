"""A supervisor with tiny workers, run as a separate program by test_supervisor.py.

Arguments: the body's name, the number of workers, the folder in which the workers leave notes, the drain time.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

from agentgate.lib.settings.schema import Settings
from agentgate.lib.settings.values import ListenAddress
from agentgate.lib.telemetry.logs import configure
from agentgate.server.workers import ListenRefused, Timings, supervise

TIMINGS = Timings(
    silence_s=0.5, start_s=20, steady_s=1, first_delay_s=0.05, longest_delay_s=0.2, crash_loop_deaths=3, close_s=0.3
)


def steady(settings, sockets, beat):
    """Send the process ID on every connection, until a signal stops the worker."""
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(1))
    while not stopping:
        beat()
        note(settings, "up")
        with contextlib.suppress(BlockingIOError):
            connection, _ = sockets.public.accept()
            connection.sendall(str(os.getpid()).encode())
            connection.close()
        time.sleep(0.02)
    note(settings, "drained")


def blocked(settings, sockets, beat):
    """Fall silent once, in the first worker that gets here; else be steady."""
    try:
        (settings.data_dir / "blocked").touch(exist_ok=False)
    except FileExistsError:
        steady(settings, sockets, beat)
        return
    beat()
    note(settings, "silent")
    time.sleep(60)


def dying(settings, sockets, beat):
    """Die at once."""
    note(settings, "died")
    sys.exit(3)


def failing(settings, sockets, beat):
    """Fail with a secret in the message."""
    configure("json", "info")
    raise ValueError("cannot connect to postgresql://gate:CANARY@db/gate")


def stubborn(settings, sockets, beat):
    """Do not stop when told."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        beat()
        note(settings, "up")
        time.sleep(0.02)


def note(settings, name):
    (settings.data_dir / f"{name}.{os.getpid()}").touch()


def ready(sockets):
    sys.stdout.write(f"ready {sockets.public.getsockname()[1]}\n")
    sys.stdout.flush()


def main():
    body, workers, folder, drain_seconds, port = sys.argv[1:]
    # Standard output is kept for the word "ready".
    configure("json", "info")
    settings = Settings(
        data_dir=Path(folder),
        workers=int(workers),
        drain_seconds=int(drain_seconds),
        public_listen=ListenAddress("127.0.0.1", int(port)),
        admin_listen=ListenAddress("127.0.0.1", 0),
    )
    try:
        sys.exit(supervise(settings, globals()[body], on_ready=ready, timings=TIMINGS))
    except ListenRefused as refused:
        sys.exit(f"refused: {refused}")


if __name__ == "__main__":
    main()
