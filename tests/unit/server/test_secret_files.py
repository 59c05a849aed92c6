"""The files of the first start: created once, owner-only, the same for all that start together, never overwritten."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agentgate.lib.settings.schema import Settings, read_settings
from agentgate.server.secret_files import SecretFileRefused, admin_key, root_secret

MAKE_BOTH = """
import sys
from agentgate.lib.settings.schema import read_settings
from agentgate.server.secret_files import admin_key, root_secret
settings = read_settings({"AGENTGATE_DATA_DIR": sys.argv[1]})
sys.stdin.readline()
print(root_secret(settings).hex(), admin_key(settings))
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return read_settings({"AGENTGATE_DATA_DIR": str(tmp_path / "deep" / "data")})


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_both_are_made_once_and_read_from_then_on(settings: Settings) -> None:
    key, secret = admin_key(settings), root_secret(settings)

    assert (admin_key(settings), root_secret(settings)) == (key, secret)
    assert len(secret) == 32
    assert key.startswith("agk_")
    assert len(key) == 47


def test_two_installations_have_nothing_in_common(tmp_path: Path) -> None:
    first, second = (read_settings({"AGENTGATE_DATA_DIR": str(tmp_path / name)}) for name in ("a", "b"))

    assert admin_key(first) != admin_key(second)
    assert root_secret(first) != root_secret(second)


def test_only_the_owner_may_read_the_files_whatever_the_umask(settings: Settings) -> None:
    before = os.umask(0)
    try:
        admin_key(settings)
        root_secret(settings)
    finally:
        os.umask(before)

    assert mode_of(settings.admin_key_path) == 0o600
    assert mode_of(settings.root_secret_path) == 0o600
    assert mode_of(settings.data_dir) == 0o700


def test_nothing_else_is_left_in_the_folder(settings: Settings) -> None:
    admin_key(settings)
    root_secret(settings)

    assert {path.name for path in settings.data_dir.iterdir()} == {"admin.key", "root.secret"}


def test_a_setting_wins_and_leaves_no_file(tmp_path: Path) -> None:
    environ = {
        "AGENTGATE_DATA_DIR": str(tmp_path),
        "AGENTGATE_ADMIN_KEY": "a-key-of-the-operators-own",
        "AGENTGATE_ROOT_SECRET": "ab" * 32,
    }
    settings = read_settings(environ)

    assert admin_key(settings) == "a-key-of-the-operators-own"
    assert root_secret(settings) == bytes.fromhex("ab" * 32)
    assert list(tmp_path.iterdir()) == []


def test_processes_that_start_together_agree(settings: Settings) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", MAKE_BOTH, str(settings.data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PYTHONPATH": os.pathsep.join(sys.path)},
            text=True,
        )
        for _ in range(6)
    ]
    # All of them are waiting at the same line; what they do next they do at once.
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=20)[0] for process in started]

    assert [process.returncode for process in started] == [0] * 6
    assert len(set(answers)) == 1
    assert answers[0].split() == [root_secret(settings).hex(), admin_key(settings)]
    assert len(list(settings.data_dir.iterdir())) == 2


def test_a_file_with_a_line_end_or_spaces_around_is_read(settings: Settings) -> None:
    settings.data_dir.mkdir(parents=True)
    settings.admin_key_path.write_text("  a-key-that-somebody-typed-in \n\n")
    settings.root_secret_path.write_text("AB" * 32 + "\r\n")

    assert admin_key(settings) == "a-key-that-somebody-typed-in"
    assert root_secret(settings) == bytes.fromhex("ab" * 32)


GARBAGE = {
    "empty": b"",
    "blank": b" \n",
    "short": b"abcdef",
    "zeros": b"\0" * 64,
    "not text": b"\xff\xfe" * 40,
    "umlauts": "ä".encode() * 40,
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_garbage_instead_of_the_root_secret_is_rejected_and_remains(settings: Settings, garbage: bytes) -> None:
    settings.data_dir.mkdir(parents=True)
    settings.root_secret_path.write_bytes(garbage)

    with pytest.raises(SecretFileRefused, match=r"root\.secret (does not hold 32 bytes|cannot be read)"):
        root_secret(settings)

    assert settings.root_secret_path.read_bytes() == garbage


@pytest.mark.parametrize("text", ["ab" * 31, "ab" * 31 + "a", "xy" * 32, "0x" + "ab" * 32, "ab" * 31 + "\u0661\u0661"])
def test_a_root_secret_that_is_not_32_bytes_in_hex_is_rejected(settings: Settings, text: str) -> None:
    settings.data_dir.mkdir(parents=True)
    settings.root_secret_path.write_text(text, "utf-8")

    with pytest.raises(SecretFileRefused, match=r"root\.secret"):
        root_secret(settings)


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_garbage_instead_of_the_admin_key_is_rejected_and_remains(settings: Settings, garbage: bytes) -> None:
    settings.data_dir.mkdir(parents=True)
    settings.admin_key_path.write_bytes(garbage)

    with pytest.raises(SecretFileRefused, match=r"admin\.key (does not hold 24|cannot be read)"):
        admin_key(settings)

    assert settings.admin_key_path.read_bytes() == garbage


@pytest.mark.parametrize(
    "text", ["x" * 23, "two words of enough characters", "a" * 30 + "\n" + "b" * 30, "x" * 30 + "\x7f"]
)
def test_an_admin_key_that_is_short_or_could_not_travel_in_a_header_is_rejected(settings: Settings, text: str) -> None:
    settings.data_dir.mkdir(parents=True)
    settings.admin_key_path.write_text(text)

    with pytest.raises(SecretFileRefused, match="24 or more visible ASCII characters"):
        admin_key(settings)


def test_what_is_not_a_file_is_rejected_in_plain_text(settings: Settings) -> None:
    settings.admin_key_path.mkdir(parents=True)

    with pytest.raises(SecretFileRefused, match=r"admin\.key cannot be read"):
        admin_key(settings)


def test_a_link_to_nowhere_is_rejected_and_not_followed(settings: Settings, tmp_path: Path) -> None:
    settings.data_dir.mkdir(parents=True)
    settings.root_secret_path.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(SecretFileRefused, match=r"root\.secret cannot be read"):
        root_secret(settings)

    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_cannot_be_made_is_rejected_in_plain_text(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = read_settings({"AGENTGATE_DATA_DIR": str(tmp_path / "file" / "data")})

    for read in (admin_key, root_secret):
        with pytest.raises(SecretFileRefused, match="cannot be read or created"):
            read(settings)


def test_a_lost_root_secret_is_not_replaced_next_to_databases_that_need_it(settings: Settings) -> None:
    settings.data_dir.mkdir(parents=True)
    (settings.data_dir / "config.db").touch()

    with pytest.raises(SecretFileRefused, match="restore the file from a backup"):
        root_secret(settings)

    assert not settings.root_secret_path.exists()
