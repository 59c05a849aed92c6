"""Settings: every setting with its kind, default and meaning, declared once; all problems reported at once.

This is the only module that reads the environment. How a kind of value is written is in `values.py`.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import fields as struct_fields

from agentgate.lib.settings import values
from agentgate.lib.settings.values import ListenAddress, Network, Unfit, ValueKind

PREFIX = "AGENTGATE_"
FILE_SUFFIX = "_FILE"
DEFAULT_TOML = Path("agentgate.toml")
SECRET_FILE_BYTES = 64 * 1024
LOOPBACK = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))


class Setting(Struct, frozen=True):
    """Facts about a setting besides its type and its default. Secrets are hidden and may be in a file."""

    kind: ValueKind[Any]
    meaning: str
    secret: bool = False
    # The one name without the prefix is the specification's own.
    variable: str = ""


class Settings(Struct, frozen=True, kw_only=True):
    """All settings. With the defaults the service runs."""

    data_dir: Annotated[Path, Setting(values.folder(), "Data directory: databases, secrets")] = Path("data")
    database_url: Annotated[
        str,
        Setting(
            values.url("postgresql", "postgres"),
            "PostgreSQL. Default: embedded databases in the data directory",
            secret=True,
        ),
    ] = ""
    redis_url: Annotated[
        str,
        Setting(
            values.url("redis", "rediss", "unix", "redis+cluster", "rediss+cluster"),
            "Redis or a Redis Cluster for rate windows. Default: memory",
            secret=True,
        ),
    ] = ""
    events_url: Annotated[
        str,
        Setting(
            values.servers_url("clickhouse", "clickhouses"),
            "ClickHouse servers for decision events, comma-separated (`clickhouses` over TLS). Default: events"
            " are stored"
            " with everything else",
            secret=True,
        ),
    ] = ""
    events_cluster: Annotated[
        str,
        Setting(
            values.cluster_name(),
            "Name of the ClickHouse cluster whose shards and replicas hold the events. Default: one server",
        ),
    ] = ""
    events_spool_mb: Annotated[
        int,
        Setting(
            values.number(1, 1_000_000),
            "Megabytes of events, for all workers together, to keep in the data directory while ClickHouse is"
            " unavailable",
        ),
    ] = 1024
    public_base_url: Annotated[
        str,
        Setting(values.base_url(), "Address at which visitors reach the public listener", variable="PUBLIC_BASE_URL"),
    ] = ""
    public_listen: Annotated[
        ListenAddress,
        Setting(
            values.public_address(),
            "Address of the public listener, and a Unix socket for proxies on the same machine, which are trusted",
        ),
    ] = values.DEFAULT_PUBLIC
    public_socket_mode: Annotated[
        int, Setting(values.socket_mode(), "Permissions of the Unix socket: its clients are trusted proxies")
    ] = 0o660
    public_socket_group: Annotated[
        str, Setting(values.group(), "Group of the Unix socket. Give the proxy's group. Default: the service's")
    ] = ""
    admin_listen: Annotated[
        ListenAddress, Setting(values.listen_address(), "Address of the private admin listener")
    ] = ListenAddress("127.0.0.1", 8081)
    admin_key: Annotated[
        str,
        Setting(values.passphrase(24), "Operator credential. Default: generated in the data directory", secret=True),
    ] = ""
    root_secret: Annotated[
        bytes,
        Setting(
            values.root_secret(), "Decrypts the stored keys. Default: generated in the data directory", secret=True
        ),
    ] = b""
    trusted_proxies: Annotated[
        tuple[Network, ...], Setting(values.networks(), "Peers whose X-Forwarded-For is trusted")
    ] = LOOPBACK
    admin_hosts: Annotated[
        tuple[str, ...],
        Setting(values.hosts(), "Host names that the admin listener accepts, on any port"),
    ] = ("localhost", "127.0.0.1", "[::1]")
    workers: Annotated[int, Setting(values.number(1, 256), "Worker processes")] = 1
    event_days: Annotated[int, Setting(values.number(1, 3650), "Retention of decision events, in days")] = 31
    metric_days: Annotated[int, Setting(values.number(1, 3650), "Retention of daily aggregates, in days")] = 400
    audit_days: Annotated[int, Setting(values.number(30, 36500), "Retention of audit entries, in days")] = 730
    message_days: Annotated[int, Setting(values.number(8, 3650), "Retention of sent messages, in days")] = 90
    ended_days: Annotated[int, Setting(values.number(8, 3650), "Retention of ended secrets, in days")] = 400
    rule_days: Annotated[int, Setting(values.number(31, 3650), "Retention of old rule revisions, in days")] = 400
    token_seconds: Annotated[int, Setting(values.number(10, 3600), "Lifetime of a browser token")] = 120
    clearance_seconds: Annotated[int, Setting(values.number(60, 86400), "Lifetime of a clearance cookie")] = 1800
    access_site_key: Annotated[
        str,
        Setting(
            values.site_key(),
            "AgentGate's own site. Its browser check (actions `request_access`, `sign_in`) protects the form"
            " that requests"
            " an account, and sign-ins during an attack; its account cannot be deleted. Default: none",
        ),
    ] = ""
    smtp_url: Annotated[
        str,
        Setting(
            values.url("smtp", "smtps"), "Mail server. Default: none, messages are kept in the outbox", secret=True
        ),
    ] = ""
    mail_from: Annotated[
        str,
        Setting(values.mail_address(), "Sender of email. Default: `agentgate` at the host of the public address"),
    ] = ""
    otlp_endpoint: Annotated[
        str, Setting(values.url("http", "https"), "OpenTelemetry collector (OTLP over HTTP). Default: no traces")
    ] = ""
    trace_url_template: Annotated[
        str, Setting(values.url_template("{traceId}"), "Link from a decision to its trace in your tracing tool")
    ] = ""
    intel_dir: Annotated[
        Path | None, Setting(values.optional_folder(), "Folder of threat data. Default: bundled data only")
    ] = None
    probes_dir: Annotated[
        Path | None,
        Setting(values.optional_folder(), "Folder of private probe pools. Default: `probes` in the data directory"),
    ] = None
    confirm_crawlers: Annotated[
        str,
        Setting(values.choice("on", "off"), "Verify search engine crawlers with DNS lookups"),
    ] = "on"
    dns_servers: Annotated[
        tuple[ListenAddress, ...],
        Setting(values.name_servers(), "DNS servers. Default: the machine's servers"),
    ] = ()
    agent_directories: Annotated[
        tuple[str, ...],
        Setting(
            values.key_hosts(), "Hosts from which AgentGate fetches agent keys. `known`: the bundled list of agents"
        ),
    ] = (values.KNOWN_HOSTS,)
    webhook_private_hosts: Annotated[
        tuple[str, ...],
        Setting(
            values.hosts(),
            "Hosts that webhooks and network lists of all customers may reach by HTTP and at private addresses. "
            "Default: none",
        ),
    ] = ()
    site_private_hosts: Annotated[
        tuple[str, ...],
        Setting(
            values.hosts(),
            "Hosts of sites that AgentGate may request over HTTP or at private addresses, to test them. Default: none",
        ),
    ] = ()
    oidc_issuers: Annotated[
        tuple[values.OidcIssuer, ...],
        Setting(
            values.oidc_issuers(),
            "Identity providers (OpenID Connect) with which users may sign in; private addresses are allowed."
            " Default: none",
            secret=True,
        ),
    ] = ()
    oidc_groups_claim: Annotated[str, Setting(values.claim(), "Claim of an ID token that has the groups of a user")] = (
        "groups"
    )
    oidc_operators: Annotated[
        tuple[str, ...],
        Setting(
            values.issuer_groups(), "Groups of identity providers that may operate the installation. Default: none"
        ),
    ] = ()
    log_format: Annotated[str, Setting(values.choice("json", "console"), "Log format")] = "json"
    log_level: Annotated[
        str, Setting(values.choice("debug", "info", "warning", "error"), "Minimum severity of log lines")
    ] = "info"
    decision_log_every: Annotated[
        int,
        Setting(values.number(0, 1_000_000), "Log one in this many decisions; 0 logs none"),
    ] = 0
    max_in_flight: Annotated[
        int,
        Setting(values.number(1, 100_000), "Concurrent requests per listener and worker; more are rejected"),
    ] = 512
    max_connections: Annotated[
        int,
        Setting(
            values.number(16, 1_000_000),
            "Open connections per listener and worker; more are closed. Limited by the number of files that the"
            " process may open",
        ),
    ] = 10_000
    drain_seconds: Annotated[
        int, Setting(values.number(0, 600), "Time for open requests to finish when the service stops")
    ] = 10

    sources: tuple[tuple[str, str], ...] = ()

    @property
    def admin_key_path(self) -> Path:
        """The file for the admin key that the first start generates if none is set."""
        return self.data_dir / "admin.key"

    @property
    def root_secret_path(self) -> Path:
        """The file for the root secret that the first start generates if none is set."""
        return self.data_dir / "root.secret"

    @property
    def mail_sender(self) -> str:
        host = urlsplit(self.public_base_url).hostname or ""
        # Mail servers reject email from an IP address.
        named = values.HOST_NAME.match(host) and not host.rpartition(".")[2].isdigit()
        return self.mail_from or f"agentgate@{host if named else 'localhost'}"

    def __repr__(self) -> str:
        """Write the settings without secrets, because a representation ends up in logs and tracebacks."""
        return f"Settings({', '.join(f'{row.name}={row.value!r}' for row in describe(self))})"


class SettingRow(Struct, frozen=True, kw_only=True):
    """One row of the table of settings."""

    field: str
    setting: Setting
    default: Any

    @property
    def variable(self) -> str:
        return self.setting.variable or PREFIX + self.field.upper()


class Described(NamedTuple):
    """One setting as shown to people. `source` is `default`, `environment` or the name of the TOML file."""

    name: str
    value: str
    source: str
    meaning: str


class SettingProblem(Struct, frozen=True):
    """One thing wrong with the settings: the name as it was written, what is wrong, what would be right."""

    name: str
    wrong: str
    right: str

    def __str__(self) -> str:
        return f"{self.name}: {self.wrong}; {self.right}"


class SettingsRefused(Exception):  # noqa: N818 - the word the rest of the code uses for a refusal
    """The settings cannot be used. Every problem is listed."""

    def __init__(self, problems: list[SettingProblem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class GivenSetting(Struct, frozen=True):
    """A setting that was given: its name, source and text."""

    name: str
    source: str
    text: str


def settings_table() -> tuple[SettingRow, ...]:
    """Return every setting in the order of its declaration."""
    hints = get_type_hints(Settings, include_extras=True)
    defaults = {item.name: item.default for item in struct_fields(Settings)}
    return tuple(
        SettingRow(field=name, setting=hint.__metadata__[0], default=defaults[name])
        for name, hint in hints.items()
        if hasattr(hint, "__metadata__")
    )


def read_process_settings(toml_path: Path | None) -> Settings:
    """Read the settings of this process; without a path, `agentgate.toml` in the working folder if there is one."""
    if toml_path is None and DEFAULT_TOML.exists():
        toml_path = DEFAULT_TOML
    return read_settings(os.environ, toml_path)


def read_settings(environ: Mapping[str, str], toml_path: Path | None = None) -> Settings:
    """Read settings from an environment and a TOML file; the environment wins. The error lists all problems."""
    table = settings_table()
    problems: list[SettingProblem] = []
    given = _given_in_toml(toml_path, table, problems) if toml_path else {}
    given |= _given_in_environment(environ, table, problems)
    parsed: dict[str, Any] = {}
    for entry in table:
        if entry.field in given:
            parsed |= _parse(entry, given[entry.field], problems)
    sources = tuple((name, found.source) for name, found in given.items())
    settings = Settings(**parsed, sources=sources)
    problems.extend(_problems_between(settings))
    if problems:
        raise SettingsRefused(problems)
    return settings


def describe(settings: Settings) -> list[Described]:
    """Return each setting with its value as it may be shown (secrets hidden), where it came from and its meaning."""
    sources = dict(settings.sources)
    rows = []
    for entry in settings_table():
        value = getattr(settings, entry.field)
        source = sources.get(entry.field, "default" if value == entry.default else "program")
        rows.append(Described(entry.variable, entry.setting.kind.show(value), source, entry.setting.meaning))
    return rows


def _given_in_environment(
    environ: Mapping[str, str], table: tuple[SettingRow, ...], problems: list[SettingProblem]
) -> dict[str, GivenSetting]:
    known = {entry.variable: entry for entry in table}
    written = {name: text for name, text in environ.items() if name.startswith(PREFIX) or name in known}
    return _match(written, known, "environment", problems)


def _given_in_toml(
    path: Path, table: tuple[SettingRow, ...], problems: list[SettingProblem]
) -> dict[str, GivenSetting]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        problems.append(SettingProblem(str(path), f"cannot be read ({error.strerror})", "give the path of a TOML file"))
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problems.append(SettingProblem(str(path), f"is not TOML ({error})", "write lines such as workers = 2"))
        return {}
    written = {}
    for name, value in document.items():
        text = _toml_text(value)
        if text is None:
            problems.append(
                SettingProblem(name, f"has an invalid value in {path}", "write text, a whole number or a list")
            )
        else:
            written[name] = text
    return _match(written, {entry.field: entry for entry in table}, path.name, problems)


def _toml_text(value: object) -> str | None:
    # True is an int to Python; as a setting it is a mistake.
    if isinstance(value, bool):
        return None
    if isinstance(value, int | str):
        return str(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return None


def _match(
    written: Mapping[str, str], known: Mapping[str, SettingRow], source: str, problems: list[SettingProblem]
) -> dict[str, GivenSetting]:
    """Find the setting for each written name; read the files with secrets."""
    given: dict[str, GivenSetting] = {}
    in_files = {_file_name(name): entry for name, entry in known.items() if entry.setting.secret}
    for name, text in written.items():
        entry = known.get(name) or in_files.get(name)
        if entry is None:
            problems.append(SettingProblem(name, f"unknown setting in {source}", _nearest(name, [*known, *in_files])))
        elif entry.field in given:
            problems.append(
                SettingProblem(name, f"given together with {given[entry.field].name}", "give only one of them")
            )
        else:
            secret = text if name in known else _secret_in_file(name, Path(text), problems)
            given[entry.field] = GivenSetting(name, source, secret)
    return given


def _file_name(name: str) -> str:
    return name + (FILE_SUFFIX if name.isupper() else FILE_SUFFIX.lower())


def _nearest(name: str, known: list[str]) -> str:
    # Without the prefix, which would make every name similar to every other.
    bare = {candidate.removeprefix(PREFIX): candidate for candidate in known}
    near = get_close_matches(name.removeprefix(PREFIX), bare, n=1, cutoff=0.5)
    return f"did you mean {bare[near[0]]}?" if near else "`agentgate check-config` lists the known names"


def _secret_in_file(name: str, path: Path, problems: list[SettingProblem]) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(SECRET_FILE_BYTES + 1)
        # Editors and `echo` end a file with a newline that does not belong to the secret.
        text = content.decode().rstrip("\r\n")
        if text and len(content) <= SECRET_FILE_BYTES:
            return text
        # An empty file would count as "not given", and the service would generate an unwanted secret.
        wrong = f"{path} is larger than {SECRET_FILE_BYTES} bytes" if text else f"{path} is empty"
    except OSError as error:
        wrong = f"{path} cannot be read ({error.strerror})"
    except UnicodeDecodeError:
        wrong = f"{path} is not text"
    problems.append(SettingProblem(name, wrong, "give the path of a file that holds the secret alone"))
    return ""


def _parse(entry: SettingRow, given: GivenSetting, problems: list[SettingProblem]) -> dict[str, Any]:
    try:
        return {entry.field: entry.setting.kind.parse(given.text)}
    except Unfit as unfit:
        shown = "its value" if entry.setting.secret else repr(given.text)
        problems.append(SettingProblem(given.name, f"{shown} is invalid: {unfit}", f"give {entry.setting.kind.right}"))
        return {}


def _problems_between(settings: Settings) -> Iterator[SettingProblem]:
    if str(settings.public_listen) == str(settings.admin_listen) and settings.public_listen.port:
        # One socket for both would put the admin routes on the public side.
        yield SettingProblem(
            PREFIX + "ADMIN_LISTEN", f"{settings.admin_listen} is also the public listener", "give another port"
        )
    if settings.oidc_issuers and not settings.public_base_url:
        yield SettingProblem(
            PREFIX + "OIDC_ISSUERS", "the address of the service is unknown to them", "set PUBLIC_BASE_URL too"
        )
    names = {issuer.name for issuer in settings.oidc_issuers}
    for unknown in sorted({each.partition(":")[0] for each in settings.oidc_operators} - names):
        yield SettingProblem(PREFIX + "OIDC_OPERATORS", f"{unknown} is not in OIDC_ISSUERS", "name one of the issuers")
