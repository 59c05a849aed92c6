"""Settings: their sources, rejected values, and shown values."""

import pickle
from ipaddress import ip_network
from pathlib import Path

import pytest

from agentgate.lib.settings.schema import (
    Settings,
    SettingsRefused,
    describe,
    read_process_settings,
    read_settings,
    settings_table,
)
from agentgate.lib.settings.values import ListenAddress
from agentgate.server.cli.about import settings_page

PAGE = Path(__file__).parents[4] / "docs" / "settings.md"
KEY = "correct-horse-battery-staple"


def problems_of(environ: dict[str, str], toml_path: Path | None = None) -> dict[str, str]:
    with pytest.raises(SettingsRefused) as caught:
        read_settings(environ, toml_path)
    return {problem.name: str(problem) for problem in caught.value.problems}


def test_without_anything_given_the_defaults_hold():
    assert read_settings({}) == Settings()


def test_the_defaults_are_the_ones_of_the_contract():
    settings = Settings()

    assert settings.data_dir == Path("data")
    assert str(settings.public_listen) == "127.0.0.1:8080"
    assert str(settings.admin_listen) == "127.0.0.1:8081"
    assert settings.trusted_proxies == (ip_network("127.0.0.0/8"), ip_network("::1/128"))
    assert (settings.event_days, settings.metric_days) == (31, 400)
    assert (settings.token_seconds, settings.clearance_seconds) == (120, 1800)


def test_the_environment_wins_over_the_file(tmp_path):
    toml = tmp_path / "agentgate.toml"
    toml.write_text('workers = 2\nevent_days = 7\ntrusted_proxies = ["10.0.0.0/8", "::1"]\n')

    settings = read_settings({"AGENTGATE_WORKERS": "4"}, toml)

    assert (settings.workers, settings.event_days) == (4, 7)
    assert settings.trusted_proxies == (ip_network("10.0.0.0/8"), ip_network("::1/128"))


def test_the_public_base_url_has_no_prefix_and_loses_its_final_slash():
    assert read_settings({"PUBLIC_BASE_URL": "https://gate.example/"}).public_base_url == "https://gate.example"


def test_the_prefixed_public_base_url_is_rejected_with_the_right_name():
    problems = problems_of({"AGENTGATE_PUBLIC_BASE_URL": "https://gate.example"})

    assert problems["AGENTGATE_PUBLIC_BASE_URL"].endswith("did you mean PUBLIC_BASE_URL?")


def test_an_unknown_name_is_rejected_with_the_nearest_known_one():
    assert "did you mean AGENTGATE_WORKERS?" in problems_of({"AGENTGATE_WORKER": "2"})["AGENTGATE_WORKER"]


def test_an_unknown_name_in_the_file_is_rejected_with_the_nearest_known_one(tmp_path):
    toml = tmp_path / "agentgate.toml"
    toml.write_text("worker = 2\n")

    assert "did you mean workers?" in problems_of({}, toml)["worker"]


def test_variables_of_other_programs_are_unchanged():
    assert read_settings({"PATH": "/bin", "AGENT": "x", "DATABASE_URL": "mysql://x"}) == Settings()


def test_all_problems_are_reported_at_once():
    problems = problems_of(
        {"AGENTGATE_WORKERS": "many", "AGENTGATE_ADMIN_KEY": "short", "AGENTGATE_LOG_FORMAT": "xml", "AGENTGATE_X": "1"}
    )

    assert set(problems) == {"AGENTGATE_WORKERS", "AGENTGATE_ADMIN_KEY", "AGENTGATE_LOG_FORMAT", "AGENTGATE_X"}
    assert "give a whole number from 1 to 256" in problems["AGENTGATE_WORKERS"]
    assert "one of `json`, `console`" in problems["AGENTGATE_LOG_FORMAT"]


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("AGENTGATE_WORKERS", "0"),
        ("AGENTGATE_WORKERS", "1_0"),
        ("AGENTGATE_WORKERS", " 2"),
        ("AGENTGATE_WORKERS", "٣"),
        ("AGENTGATE_WORKERS", ""),
        ("AGENTGATE_PUBLIC_LISTEN", "8080"),
        ("AGENTGATE_PUBLIC_LISTEN", "127.0.0.1:65536"),
        ("AGENTGATE_PUBLIC_LISTEN", ":8080"),
        ("AGENTGATE_PUBLIC_LISTEN", "::1:8080"),
        ("AGENTGATE_PUBLIC_LISTEN", "[127.0.0.1]:8080"),
        ("AGENTGATE_PUBLIC_LISTEN", "unix:public.sock"),
        ("AGENTGATE_PUBLIC_LISTEN", "unix:/run/a b.sock"),
        ("AGENTGATE_PUBLIC_LISTEN", "unix:/" + "x" * 107),
        ("AGENTGATE_PUBLIC_LISTEN", "127.0.0.1:8080 unix:/run/public.sock"),
        ("AGENTGATE_PUBLIC_LISTEN", "127.0.0.1,unix:/run/public.sock"),
        ("AGENTGATE_ADMIN_LISTEN", "unix:/run/admin.sock"),
        ("AGENTGATE_PUBLIC_SOCKET_MODE", "666"),
        ("AGENTGATE_PUBLIC_SOCKET_MODE", "0660"),
        ("AGENTGATE_PUBLIC_SOCKET_GROUP", "www data"),
        ("AGENTGATE_TRUSTED_PROXIES", "10.0.0.1/8"),
        ("AGENTGATE_TRUSTED_PROXIES", "10.0.0.0/8, proxy"),
        ("AGENTGATE_ADMIN_HOSTS", "admin.example:8081"),
        ("AGENTGATE_ADMIN_HOSTS", "*"),
        ("AGENTGATE_AGENT_DIRECTORIES", "https://agent.example/"),
        ("PUBLIC_BASE_URL", "gate.example"),
        ("PUBLIC_BASE_URL", "https://gate.example/?x=1"),
        ("PUBLIC_BASE_URL", "https://gate.example/#"),
        ("PUBLIC_BASE_URL", "https://user@gate.example"),
        ("PUBLIC_BASE_URL", "https://gate.example/\nX: y"),
        ("AGENTGATE_DATABASE_URL", "mysql://host/db"),
        ("AGENTGATE_REDIS_URL", "redis://"),
        ("AGENTGATE_EVENTS_URL", "clickhouse://"),
        ("AGENTGATE_EVENTS_URL", "clickhouse://one:8123,:8123/gate"),
        ("AGENTGATE_EVENTS_URL", "clickhouse://one/gate?cluster=a"),
        ("AGENTGATE_EVENTS_URL", "http://one:8123/gate"),
        ("AGENTGATE_EVENTS_CLUSTER", "a` DROP"),
        ("AGENTGATE_SMTP_URL", "smtp://host:port"),
        ("AGENTGATE_TRACE_URL_TEMPLATE", "https://traces.example/"),
        ("AGENTGATE_ADMIN_KEY", KEY + " "),
        ("AGENTGATE_ADMIN_KEY", KEY[:23]),
        ("AGENTGATE_ROOT_SECRET", "ab" * 31),
        ("AGENTGATE_ROOT_SECRET", "A" * 42),
        ("AGENTGATE_ROOT_SECRET", "not/base64url/" * 5),
        ("AGENTGATE_DNS_SERVERS", "dns.example"),
        ("AGENTGATE_DNS_SERVERS", "192.0.2.53, 192.0.2.1:99999"),
        ("AGENTGATE_CONFIRM_CRAWLERS", "yes"),
    ],
)
def test_an_unfit_value_is_rejected(variable, text):
    assert variable in problems_of({variable: text})


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("AGENTGATE_PUBLIC_LISTEN", "[::1]:0", "public_listen", ListenAddress("::1", 0)),
        ("AGENTGATE_PUBLIC_LISTEN", "LocalHost:80", "public_listen", ListenAddress("localhost", 80)),
        (
            "AGENTGATE_PUBLIC_LISTEN",
            "unix:/run/p.sock",
            "public_listen",
            ListenAddress("127.0.0.1", 8080, "/run/p.sock"),
        ),
        ("AGENTGATE_PUBLIC_LISTEN", "[::1]:80, unix:/p.sock", "public_listen", ListenAddress("::1", 80, "/p.sock")),
        ("AGENTGATE_PUBLIC_SOCKET_MODE", "600", "public_socket_mode", 0o600),
        ("AGENTGATE_TRUSTED_PROXIES", "", "trusted_proxies", ()),
        ("AGENTGATE_ADMIN_HOSTS", "Admin.Example, [0:0::1]", "admin_hosts", ("admin.example", "[::1]")),
        ("AGENTGATE_AGENT_DIRECTORIES", "*", "agent_directories", ("*",)),
        ("AGENTGATE_AGENT_DIRECTORIES", "any", "agent_directories", ("*",)),
        ("AGENTGATE_AGENT_DIRECTORIES", "none", "agent_directories", ()),
        ("AGENTGATE_AGENT_DIRECTORIES", "known, Agent.example", "agent_directories", ("known", "agent.example")),
        ("AGENTGATE_DATABASE_URL", "postgresql:///gate?host=/run", "database_url", "postgresql:///gate?host=/run"),
        ("AGENTGATE_REDIS_URL", "unix:///run/redis.sock", "redis_url", "unix:///run/redis.sock"),
        ("AGENTGATE_EVENTS_URL", "clickhouse://a:b@one:1,two/gate", "events_url", "clickhouse://a:b@one:1,two/gate"),
        ("AGENTGATE_INTEL_DIR", "", "intel_dir", None),
        ("AGENTGATE_DNS_SERVERS", "192.0.2.53", "dns_servers", (ListenAddress("192.0.2.53", 53),)),
        ("AGENTGATE_DNS_SERVERS", "[::1]:5353", "dns_servers", (ListenAddress("::1", 5353),)),
        ("AGENTGATE_ADMIN_KEY", KEY[:24], "admin_key", KEY[:24]),
        ("AGENTGATE_ROOT_SECRET", "0f" * 32, "root_secret", b"\x0f" * 32),
        ("AGENTGATE_ROOT_SECRET", "_" * 43, "root_secret", b"\xff" * 32),
    ],
)
def test_a_fit_value_is_read(variable, text, field, value):
    assert getattr(read_settings({variable: text}), field) == value


def test_a_secret_may_be_in_a_file(tmp_path):
    file = tmp_path / "key"
    file.write_text(KEY + "\n")

    assert read_settings({"AGENTGATE_ADMIN_KEY_FILE": str(file)}).admin_key == KEY


def test_a_secret_file_may_be_named_in_the_toml_file(tmp_path):
    file = tmp_path / "key"
    file.write_text(KEY)
    toml = tmp_path / "agentgate.toml"
    toml.write_text(f'admin_key_file = "{file}"\n')

    assert read_settings({}, toml).admin_key == KEY


def test_a_secret_in_the_environment_wins_over_a_secret_file_in_the_toml_file(tmp_path):
    file = tmp_path / "key"
    file.write_text(KEY)
    toml = tmp_path / "agentgate.toml"
    toml.write_text(f'admin_key_file = "{file}"\n')

    assert read_settings({"AGENTGATE_ADMIN_KEY": KEY * 2}, toml).admin_key == KEY * 2


@pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff\xfe", b"x" * 70_000])
def test_an_unusable_secret_file_is_rejected(tmp_path, content):
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)

    assert "AGENTGATE_ADMIN_KEY_FILE" in problems_of({"AGENTGATE_ADMIN_KEY_FILE": str(file)})


def test_a_secret_given_directly_and_as_a_file_is_rejected(tmp_path):
    file = tmp_path / "key"
    file.write_text(KEY)

    problems = problems_of({"AGENTGATE_ADMIN_KEY": KEY, "AGENTGATE_ADMIN_KEY_FILE": str(file)})

    assert list(problems) == ["AGENTGATE_ADMIN_KEY_FILE"]


def test_only_secrets_have_a_file_variant():
    assert "AGENTGATE_WORKERS_FILE" in problems_of({"AGENTGATE_WORKERS_FILE": "/tmp/x"})


@pytest.mark.parametrize("text", ["workers = true", "workers = 1.5", "[workers]\na = 1", "trusted_proxies = [1]"])
def test_an_unfit_kind_of_toml_value_is_rejected(tmp_path, text):
    toml = tmp_path / "agentgate.toml"
    toml.write_text(text)

    assert len(problems_of({}, toml)) == 1


@pytest.mark.parametrize("content", [None, b"workers =", b"\xff"])
def test_an_unreadable_toml_file_is_rejected_by_its_path(tmp_path, content):
    toml = tmp_path / "agentgate.toml"
    if content is not None:
        toml.write_bytes(content)

    assert list(problems_of({}, toml)) == [str(toml)]


def test_both_listeners_on_one_address_are_rejected():
    assert "AGENTGATE_ADMIN_LISTEN" in problems_of({"AGENTGATE_ADMIN_LISTEN": "127.0.0.1:8080"})
    given = {"AGENTGATE_PUBLIC_LISTEN": "unix:/run/p.sock", "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:8080"}
    assert "AGENTGATE_ADMIN_LISTEN" in problems_of(given)


def test_any_free_port_may_be_requested_twice():
    settings = read_settings({"AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0", "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0"})

    assert settings.admin_listen.port == 0


SECRETS = {
    "AGENTGATE_ADMIN_KEY": "CANARY-" + KEY,
    "AGENTGATE_ROOT_SECRET": "CANARY" + "A" * 44,
    "AGENTGATE_DATABASE_URL": "postgresql://gate:CANARY@db.example/gate?password=CANARY",
    "AGENTGATE_REDIS_URL": "redis://:CANARY@cache.example",
    "AGENTGATE_EVENTS_URL": "clickhouse://gate:CANARY@one.example,two.example/gate",
    "AGENTGATE_SMTP_URL": "smtps://mail:CANARY@mail.example",
    "AGENTGATE_OIDC_ISSUERS": "work=https://gate:CANARY@login.example/realms/work",
}
# An identity provider needs the address of the service.
ADDRESS = {"PUBLIC_BASE_URL": "https://gate.example"}


def test_every_secret_of_the_table_is_in_this_test():
    assert set(SECRETS) == {entry.variable for entry in settings_table() if entry.setting.secret}


def test_no_secret_is_shown_in_the_description_or_the_representation():
    settings = read_settings(SECRETS | ADDRESS)

    assert "CANARY" not in str(describe(settings))
    assert "CANARY" not in repr(settings)
    assert "@db.example/gate" in repr(settings)


def test_no_secret_is_repeated_when_it_is_rejected():
    refused = dict.fromkeys(SECRETS, "CANARY \x7f")

    problems = problems_of(refused)

    assert set(problems) == set(SECRETS)
    assert "CANARY" not in str(problems)


def test_the_description_names_the_source_of_each_setting(tmp_path):
    toml = tmp_path / "agentgate.toml"
    toml.write_text("event_days = 7\n")

    sources = {row.name: row.source for row in describe(read_settings({"AGENTGATE_WORKERS": "2"}, toml))}

    assert sources["AGENTGATE_WORKERS"] == "environment"
    assert sources["AGENTGATE_EVENT_DAYS"] == "agentgate.toml"
    assert sources["AGENTGATE_METRIC_DAYS"] == "default"


def test_the_file_in_the_working_folder_is_read_when_none_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agentgate.toml").write_text("event_days = 9\n")

    assert read_process_settings(None).event_days == 9


def test_settings_reach_another_process_unchanged():
    settings = read_settings(SECRETS | ADDRESS)

    assert pickle.loads(pickle.dumps(settings)) == settings


def test_the_settings_page_is_fresh():
    assert PAGE.read_text() == settings_page(), "run: agentgate check-config --page > docs/settings.md"
