"""`agentgate serve`: run the service. The service is assembled in `agentgate.server.application`."""

import asyncio
import contextlib
import json
import shlex
import signal
import socket
import sys
import threading
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from ipaddress import ip_address
from typing import Annotated, Any, NamedTuple

import structlog
import uvloop
from rich.console import Console
from rich.markup import escape

from agentgate.lib.settings.inherited import handed_sockets
from agentgate.lib.settings.schema import Settings, read_process_settings
from agentgate.lib.settings.values import UNIX, ListenAddress
from agentgate.lib.telemetry import logs
from agentgate.server.cli.demo_shop import DemoShop
from agentgate.server.cli.opened import opened_application
from agentgate.server.secret_files import replace_secret_file
from agentgate.server.selftest.check import refuse_wrong_results
from agentgate.server.stores.open import redis_problem
from agentgate.server.worker_channel import clear_channels
from agentgate.server.worker_tuning import begin_loading, tune_worker
from agentgate.server.workers import Heartbeat, Sockets, supervise
from agentgate_tools.commands.command import ConfigOption
from agentgate_tools.commands.parameters import Option

HEARTBEAT_S = 1.0
# The application enforces the drain time itself; this is for a drain that hangs.
DRAIN_MARGIN_S = 2.0


def serve(
    config: ConfigOption = None,
    demo: Annotated[bool, Option("--demo", help="Create a demo account and site, and run the demo shop.")] = False,
    demo_port: Annotated[int, Option("--demo-port", help="Address of the demo shop.")] = 8090,
) -> int:
    """Open the public and the admin listener and serve until SIGTERM or Ctrl-C.

    SIGUSR2 restarts the service: a new process takes over the listening sockets, and this one drains and exits.
    """
    settings = read_process_settings(config)
    _configure_logs(settings)
    if sys.stdout.isatty():
        # In a log, an error of the start is the only line.
        _show_stage("Starting AgentGate")
    # Before a store or a listener opens: some builds of Python match patterns wrongly, and then paths are open.
    refuse_wrong_results()
    shop = DemoShop(demo_port) if demo else None
    seeded = None
    if demo:
        _show_stage("Creating the demo site and its traffic")
    # Once here and not in each worker: schema, keys and first secrets are made without a race, and an error of a
    # store is printed in one line.
    if demo or settings.workers > 1:
        with _runner() as runner:
            seeded = runner.run(_prepare(settings, shop))
        if not handed_sockets():
            # The workers of a predecessor are still waited for, and remove their files themselves.
            clear_channels(settings.data_dir)

    if settings.redis_url:
        with _runner() as runner:
            runner.run(_check_redis(settings))

    def announce(sockets: Sockets) -> None:
        _announce(settings, sockets)
        # The demo has an owner.
        if shop is None:
            # Not here: with one worker, this is the thread that serves.
            threading.Thread(target=_print_setup_link, args=(settings, sockets), daemon=True).start()
        if shop is not None and seeded is not None:
            _open_shop(settings, sockets, shop, seeded)

    try:
        return supervise(
            settings,
            run_worker,
            preload=("agentgate.server.hot_libraries", "agentgate.server.cli.serve", "agentgate.server.application"),
            on_ready=announce,
        )
    finally:
        if shop is not None:
            shop.close()


def _show_stage(text: str) -> None:
    """Show what takes seconds: as text on a terminal, else as a log line."""
    if sys.stdout.isatty():
        Console().print(f"{text} ...", highlight=False)
    else:
        structlog.get_logger().info(text)


def run_worker(settings: Settings, sockets: Sockets, heartbeat: Heartbeat) -> None:
    """Serve on the sockets until told to stop: the body of a worker process."""
    _configure_logs(settings)
    if settings.workers > 1:
        # The process that forks the workers imported all modules itself.
        refuse_wrong_results()
    with _runner() as runner:
        runner.run(_serve(settings, sockets, heartbeat))


def _runner() -> asyncio.Runner:
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


class _Seeded(NamedTuple):
    """The demo's site key, the secret of the shop's credential and the password of the account's owner."""

    site_key: str
    secret: str
    password: str


async def _prepare(settings: Settings, shop: DemoShop | None) -> _Seeded | None:
    """Open the application once and close it; return the demo's site key and secrets if there is a demo."""
    async with opened_application(settings) as application:
        if shop is None:
            return None
        from agentgate.server.demo import installation as demo  # noqa: PLC0415 - as in `opened_application`

        store, clock = application.stores.store, application.clock
        site_key = await demo.seed(store, clock, origins=shop.origins)
        secret = await demo.seed_credential(store, clock, settings.data_dir / "demo-shop.json")
        password = await demo.seed_owner(store, clock, settings.data_dir / "demo-owner.json")
        await demo.seed_traffic(application)
        return _Seeded(site_key, secret, password)


async def _serve(settings: Settings, sockets: Sockets, heartbeat: Heartbeat) -> None:
    from agentgate.server.application import Application  # noqa: PLC0415 - as in `opened_application`

    begin_loading()
    stop = _Stop(asyncio.get_running_loop())
    application = await Application.open(settings, cache_end=sockets.cache_end, memory=sockets.memory)
    try:
        await application.start(*sockets.listeners)
        tune_worker()
        heartbeats = asyncio.create_task(_send_heartbeats(heartbeat))
        try:
            await stop.asked.wait()
            await _drain(application, stop, timeout_s=settings.drain_seconds + DRAIN_MARGIN_S)
        finally:
            heartbeats.cancel()
    finally:
        await application.close()


class _Stop:
    """Notes SIGTERM and SIGINT. The same signal a second time means: do not wait for open requests."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.asked = asyncio.Event()
        self.hurried = asyncio.Event()
        self._seen: set[int] = set()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._note, number)

    def _note(self, number: int) -> None:
        # Ctrl-C arrives as SIGINT and, through the supervisor, as SIGTERM: two signals, one wish.
        if number in self._seen:
            self.hurried.set()
        self._seen.add(number)
        self.asked.set()


async def _send_heartbeats(heartbeat: Heartbeat) -> None:
    while True:
        heartbeat()
        await asyncio.sleep(HEARTBEAT_S)


async def _drain(application: Any, stop: _Stop, *, timeout_s: float) -> None:
    draining = asyncio.create_task(application.drain())
    hurried = asyncio.create_task(stop.hurried.wait())
    await asyncio.wait({draining, hurried}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    if not draining.done():
        structlog.get_logger().warning("stopping before all requests are finished")
    hurried.cancel()
    draining.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await draining


def _configure_logs(settings: Settings) -> None:
    # On a terminal, log lines for people, unless the settings name a format.
    unasked = "log_format" not in dict(settings.sources)
    log_format = "console" if unasked and sys.stderr.isatty() else settings.log_format
    logs.configure(log_format, settings.log_level)


def _announce(settings: Settings, sockets: Sockets) -> None:
    """Print the addresses of the listeners: as text on a terminal, else as a log line."""
    public, admin = _url(sockets.public), _url(sockets.admin)
    if not sys.stdout.isatty():
        local = {} if sockets.local is None else {"public_socket": sockets.local.getsockname()}
        structlog.get_logger().info("serving", public_url=public, admin_url=admin, workers=settings.workers, **local)
    else:
        Console().print(_welcome(settings, sockets), highlight=False)
    if not settings.public_base_url:
        structlog.get_logger().warning("PUBLIC_BASE_URL is not set: links in email point to this machine")
    admin_host = ip_address(sockets.admin.getsockname()[0].partition("%")[0])
    if admin_host.is_unspecified or admin_host.is_global:
        structlog.get_logger().warning(
            "the admin listener is public, so anyone can try operator credentials; "
            "set ADMIN_LISTEN to 127.0.0.1 or to an address of a private network",
            admin_url=admin,
        )


def _print_setup_link(settings: Settings, sockets: Sockets) -> None:
    """Print the first owner's link, or write it to a file; nothing if a user has a password, or without a response."""
    url = request_setup_link(settings, sockets.admin)
    file = settings.data_dir / SETUP_LINK
    if url and sys.stdout.isatty():
        Console().print(f"[bold]Create your account:[/bold]\n  {url}", highlight=False, soft_wrap=True)
        return
    # More people and programs can read a log than may own the installation.
    try:
        if url:
            replace_secret_file(file, url)
            structlog.get_logger().info("create your account with the link in this file", file=str(file.absolute()))
        else:
            file.unlink(missing_ok=True)
    except OSError as error:
        structlog.get_logger().warning("run `agentgate setup-link` to create your account", reason=str(error))


async def _check_redis(settings: Settings) -> None:
    """Warn if Redis is unavailable: the service starts anyway, and uses Redis as soon as it responds."""
    if problem := await redis_problem(settings.redis_url):
        structlog.get_logger().warning(
            "Redis is unavailable: until it responds, each worker counts rates separately; check REDIS_URL",
            reason=problem,
        )


def _open_shop(settings: Settings, sockets: Sockets, shop: DemoShop, seeded: _Seeded) -> None:
    """Start the demo shop, and print the addresses to open."""
    public, admin = _url(sockets.public), _url(sockets.admin)
    key = _key_lookup(settings)
    call = f'curl -H "X-Admin-Key: {key}" {admin}/v1/admin/sites/{seeded.site_key}'
    print(f"Read the demo site through the API:\n{call}", flush=True)
    # The password follows the `#`, which browsers do not send; the page fills its form with it.
    print(f"Open it in the console:\n{public}/console/sign-in#demo:{seeded.password}", flush=True)
    where = "$AGENTGATE_ADMIN_KEY" if settings.admin_key else str(settings.admin_key_path.absolute())
    print(f"Open the operator console with the admin key in {where}:\n{admin}/operator/sign-in", flush=True)
    problem = shop.problem or (
        "" if seeded.secret else "its site has reached its limit of credentials; revoke one of them"
    )
    if problem:
        print(f"The demo shop is not running: {problem}", flush=True)
        return
    # A browser and the shop reach a listener on all addresses by this machine's own.
    public = public.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    shop.start(
        {
            "GATE_URL": public,
            "GATE_PUBLIC_URL": settings.public_base_url or public,
            "GATE_ADMIN_URL": admin,
            "GATE_ADMIN_KEY_LOOKUP": key,
            "GATE_SITE_KEY": seeded.site_key,
            "GATE_SECRET": seeded.secret,
        }
    )
    print(f"Visit the demo shop, which it protects:\n{shop.url}", flush=True)


def _welcome(settings: Settings, sockets: Sockets) -> str:
    public, admin = _url(sockets.public), _url(sockets.admin)
    key = "AGENTGATE_ADMIN_KEY" if settings.admin_key else str(settings.admin_key_path.absolute())
    return "\n".join(
        (
            "[bold]AgentGate is ready.[/bold] Ctrl-C stops it.",
            f"  Public     {public}",
            *([] if sockets.local is None else [f"             {UNIX}{escape(sockets.local.getsockname())}"]),
            f"  Admin      {admin}",
            f"  Admin key  {escape(key)}",
            f"  OpenAPI    {public}/openapi/  {admin}/openapi/",
        )
    )


def _key_lookup(settings: Settings) -> str:
    # The shell reads the key, so that it is neither on the screen nor in the shell's history.
    if settings.admin_key:
        return "$AGENTGATE_ADMIN_KEY"
    return f"$(cat {shlex.quote(str(settings.admin_key_path.absolute()))})"


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{ListenAddress(host, port)}"


# The file in the data directory that has the first owner's link.
SETUP_LINK = "setup-link"
# Short, because the supervisor also has to watch its workers.
TIMEOUT_S = 3.0
EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - replaced, not listened on


def request_setup_link(settings: Settings, listener: socket.socket) -> str:
    """Return a new link; empty if a user has a password already, or if the service does not respond."""
    host, port = listener.getsockname()[:2]
    try:
        key = settings.admin_key or settings.admin_key_path.read_text(encoding="ascii").strip()
        with closing(HTTPConnection(EVERY_ADDRESS.get(host, host), port, timeout=TIMEOUT_S)) as connection:
            connection.request("POST", "/v1/admin/setup-link", headers={"X-Admin-Key": key})
            reply = connection.getresponse()
            made = json.loads(reply.read()) if reply.status == HTTPStatus.CREATED else {}
    except (OSError, HTTPException, ValueError):
        return ""
    return str(made.get("setupUrl", ""))
