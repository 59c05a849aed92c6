"""The Unix socket for proxies: its permissions, and files that its path has already."""

import os
import socket
import stat

import pytest

from agentgate.server.unix_socket import open_unix_socket


def test_only_owner_and_group_may_open_it(tmp_path):
    path = tmp_path / "public.sock"
    before = os.umask(0)
    try:
        with open_unix_socket(path, mode=0o660, group=str(os.getgid()), backlog=8):
            found = path.stat()
    finally:
        os.umask(before)

    assert stat.S_IMODE(found.st_mode) == 0o660
    assert found.st_gid == os.getgid()


def test_a_socket_without_a_listener_is_replaced(tmp_path):
    path = tmp_path / "public.sock"
    open_unix_socket(path, mode=0o600, group="", backlog=8).close()

    with open_unix_socket(path, mode=0o600, group="", backlog=8) as opened, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b"x")
        accepted, _ = opened.accept()
        with accepted:
            assert accepted.recv(1) == b"x"


def test_a_socket_in_use_is_kept(tmp_path):
    path = tmp_path / "public.sock"
    with open_unix_socket(path, mode=0o600, group="", backlog=8):
        with pytest.raises(OSError, match="another process uses this socket"):
            open_unix_socket(path, mode=0o600, group="", backlog=8)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


def test_a_file_is_not_replaced(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("kept")

    with pytest.raises(OSError, match="the path has a file that is not a socket"):
        open_unix_socket(path, mode=0o600, group="", backlog=8)
    assert path.read_text() == "kept"


def test_a_link_is_not_followed(tmp_path):
    path = tmp_path / "public.sock"
    path.symlink_to(tmp_path / "elsewhere.sock")

    with pytest.raises(OSError, match="the path has a file that is not a socket"):
        open_unix_socket(path, mode=0o600, group="", backlog=8)


def test_an_unknown_group_is_named(tmp_path):
    with pytest.raises(OSError, match="this machine has no group unknown-group"):
        open_unix_socket(tmp_path / "public.sock", mode=0o660, group="unknown-group", backlog=8)
