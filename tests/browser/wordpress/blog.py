"""A WordPress of its own: Debian's files, a database and PHP's web server, in a temporary folder."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
SOURCES = (ROOT / ".servers" / "wordpress" / "usr/share/wordpress", Path("/usr/share/wordpress"))
PLUGIN = ROOT / "packages" / "wordpress" / "agentgate"
START_S = 60.0
PASSWORD = "correct horse battery"

CONFIG = """<?php
define('DB_NAME', 'blog'); define('DB_USER', 'root'); define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:{socket}');
define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
define('WP_HTTP_BLOCK_EXTERNAL', true); define('DISABLE_WP_CRON', true);
define('WP_DEBUG', true); define('WP_DEBUG_DISPLAY', true);
define('WP_HOME', '{url}'); define('WP_SITEURL', '{url}'); define('AUTOMATIC_UPDATER_DISABLED', true);
define('AGENTGATE_URL', '{gate}'); define('AGENTGATE_SITE_KEY', '{site_key}'); define('AGENTGATE_SECRET', '{secret}');
$table_prefix = 'wp_';
if (!defined('ABSPATH')) {{ define('ABSPATH', __DIR__ . '/'); }}
require_once ABSPATH . 'wp-settings.php';
"""
# A theme of one file: Debian keeps the real ones in packages of their own.
THEME = """<?php ?><!doctype html><html><head><title>Blog</title><?php wp_head(); ?></head><body>
<?php while (have_posts()) { the_post(); the_title('<h1>', '</h1>'); wp_list_comments(); comment_form(); } ?>
<?php wp_footer(); ?>
</body></html>
"""
INSTALL = """
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = '127.0.0.1';
require 'wp-load.php';
require_once 'wp-admin/includes/upgrade.php';
require_once 'wp-admin/includes/plugin.php';
wp_install('Blog', 'ann', 'ann@example.com', true, '', $argv[1]);
update_option('users_can_register', 1);
update_option('comment_moderation', 0);
update_option('comment_previously_approved', 0);
switch_theme('plain');
$problem = activate_plugin('agentgate/agentgate.php');
echo is_wp_error($problem) ? $problem->get_error_message() : 'installed';
"""


class Blog(NamedTuple):
    """A running WordPress."""

    url: str
    folder: Path

    def ask(self, code: str) -> str:
        """Run PHP inside WordPress and return what it printed."""
        script = "$_SERVER['HTTP_HOST'] = '127.0.0.1'; require 'wp-load.php'; " + code
        return run_php(self.folder, script)


def source() -> Path | None:
    """Return where Debian's files are, or None."""
    return next((each for each in SOURCES if (each / "wp-login.php").exists()), None)


def run_php(folder: Path, code: str, *arguments: str) -> str:
    """Run PHP code in a folder."""
    command = ["php", "-d", "sendmail_path=/bin/true", "-r", code, "--", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextlib.contextmanager
def process(command: list[str], log: Path, **variables: str) -> Iterator[None]:
    """Run a program for as long as the block does."""
    with log.open("w") as written:
        started = subprocess.Popen(command, stdout=written, stderr=written, env={**os.environ, **variables})
        try:
            yield
        finally:
            started.terminate()
            started.wait(30)


def wait(is_there, what: str) -> None:
    """Wait until something is there."""
    deadline_s = time.monotonic() + START_S
    while not is_there():
        assert time.monotonic() < deadline_s, f"{what} did not start"
        time.sleep(0.1)


def port_answers(port: int) -> bool:
    """Return whether somebody listens."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def blog(folder: Path, port: int, **gate: str) -> Iterator[Blog]:
    """Install WordPress with the plug-in, and run it."""
    files = source()
    assert files is not None
    pages = folder / "blog"
    shutil.copytree(files, pages, symlinks=True)
    for name in ("wp-config.php", ".htaccess"):
        (pages / name).unlink(missing_ok=True)
    shutil.copytree(PLUGIN, pages / "wp-content/plugins/agentgate")
    theme = pages / "wp-content/themes/plain"
    theme.mkdir(parents=True)
    (theme / "style.css").write_text("/* Theme Name: Plain */")
    (theme / "index.php").write_text(THEME)
    url = f"http://127.0.0.1:{port}"
    # A path of a socket may have about a hundred characters.
    listening = folder / "db.sock"
    (pages / "wp-config.php").write_text(CONFIG.format(socket=listening, url=url, **gate))
    data = folder / "db"
    user = f"--user={os.environ.get('USER') or 'root'}"
    data.mkdir()
    # Without its tables of users, which only a full installation of the server can make; nobody else can reach it.
    database = ["mariadbd", "--no-defaults", f"--datadir={data}", user, f"--socket={listening}"]
    database += ["--skip-networking", "--skip-grant-tables"]
    pid = f"--pid-file={folder / 'db.pid'}"
    server = ["php", "-d", "sendmail_path=/bin/true", "-S", f"127.0.0.1:{port}", "-t", str(pages)]
    with process([*database, pid], folder / "db.log"):
        wait(listening.exists, "MariaDB")
        run_php(folder, f"(new mysqli('localhost', 'root', '', '', 0, '{listening}'))->query('CREATE DATABASE blog');")
        assert run_php(pages, INSTALL, PASSWORD).endswith("installed")
        with process(server, folder / "php.log", PHP_CLI_SERVER_WORKERS="4"):
            wait(lambda: port_answers(port), "PHP")
            yield Blog(url, pages)
