"""A real WordPress: Debian's files, MariaDB, and PHP-FPM behind nginx, in a temporary folder."""

import contextlib
import json
import os
import pwd
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
STAND_IN = Path(__file__).parent / "woo-stand-in.php"
START_S = 60.0
PASSWORD = "correct horse battery"

CONFIG = """<?php
define('DB_NAME', 'blog'); define('DB_USER', 'root'); define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:{socket}');
define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
define('WP_HTTP_BLOCK_EXTERNAL', true); define('DISABLE_WP_CRON', true);
define('WP_DEBUG', true); define('WP_DEBUG_DISPLAY', true);
define('WP_HOME', '{url}'); define('WP_SITEURL', '{url}'); define('AUTOMATIC_UPDATER_DISABLED', true);
// Application passwords need TLS elsewhere.
define('WP_ENVIRONMENT_TYPE', 'local');
{gate}
$table_prefix = 'wp_';
if (!defined('ABSPATH')) {{ define('ABSPATH', __DIR__ . '/'); }}
require_once ABSPATH . 'wp-settings.php';
"""
# A theme of one file, because Debian has the real themes in separate packages.
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


NGINX = """daemon off; error_log stderr; pid {folder}/nginx.pid; worker_processes 1;
events {{ worker_connections 64; }}
http {{
    access_log off;
    types {{ text/css css; text/javascript js; }}
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port}; root {pages}; index index.php;
        location / {{ try_files $uri $uri/ /index.php?$args; }}
        location ~ \\.php$ {{
            fastcgi_pass unix:{folder}/fpm.sock;
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            fastcgi_param SCRIPT_NAME $fastcgi_script_name; fastcgi_param DOCUMENT_ROOT $document_root;
            fastcgi_param REQUEST_METHOD $request_method; fastcgi_param QUERY_STRING $query_string;
            fastcgi_param REQUEST_URI $request_uri; fastcgi_param SERVER_PROTOCOL $server_protocol;
            fastcgi_param CONTENT_TYPE $content_type; fastcgi_param CONTENT_LENGTH $content_length;
            fastcgi_param REMOTE_ADDR $remote_addr; fastcgi_param SERVER_NAME $host; fastcgi_param SERVER_PORT {port};
        }}
    }}
}}
"""
FPM = """[global]
error_log = {folder}/fpm-errors.log
daemonize = no
[www]
user = {user}
listen = {folder}/fpm.sock
listen.mode = 0666
pm = static
pm.max_children = 4
catch_workers_output = yes
php_admin_value[sendmail_path] = /bin/true
php_admin_value[opcache.enable] = 0
"""


class Blog(NamedTuple):
    """A running WordPress."""

    url: str
    folder: Path
    database: Path
    gate: dict[str, str]

    @contextlib.contextmanager
    def settings(self, **constants: str | bool | None) -> Iterator[None]:
        """Let wp-config.php have other constants of the plug-in, such as `AGENTGATE_SECRET`; None leaves one out."""
        self.write_config(**constants)
        try:
            yield
        finally:
            self.write_config()

    def write_config(self, **constants: str | bool | None) -> None:
        """Write wp-config.php."""
        named = {**self.gate, **constants}
        written = "\n".join(
            f"define('{name}', {json.dumps(value)});" for name, value in named.items() if value is not None
        )
        text = CONFIG.format(socket=self.database, url=self.url, gate=written)
        # In one step: a request that runs meanwhile must not read half of it.
        new = self.folder / "wp-config.php.new"
        new.write_text(text)
        new.replace(self.folder / "wp-config.php")

    def ask(self, code: str) -> str:
        """Run PHP inside WordPress and return what it printed."""
        script = "$_SERVER['HTTP_HOST'] = '127.0.0.1'; require 'wp-load.php'; " + code
        return run_php(self.folder, script)


def source() -> Path | None:
    """Return where Debian's files are, or None."""
    return next((each for each in SOURCES if (each / "wp-login.php").exists()), None)


def fpm_program() -> Path | None:
    """Return PHP-FPM, or None."""
    return next(iter(sorted(Path("/usr/sbin").glob("php-fpm*"))), None)


def missing() -> list[str]:
    """Return what the tests of the plug-in lack on this machine."""
    mariadb = shutil.which("mariadbd", path="/usr/sbin:/usr/bin")
    programs = {"WordPress": source(), "PHP-FPM": fpm_program(), "MariaDB": mariadb, "PHP": shutil.which("php")}
    lacking = [name for name, found in programs.items() if found is None]
    if "PHP" not in lacking:
        loaded = subprocess.run(["php", "-m"], capture_output=True, text=True, timeout=100, check=True).stdout.split()
        lacking += [f"PHP's module {name}" for name in ("mysqli", "xml") if name not in loaded]
    return lacking


def run_php(folder: Path, code: str, *arguments: str) -> str:
    """Run PHP code in a folder."""
    command = ["php", "-d", "sendmail_path=/bin/true", "-r", code, "--", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextlib.contextmanager
def process(command: list[str], log: Path) -> Iterator[None]:
    """Run a program for as long as the block does."""
    with log.open("w") as written:
        started = subprocess.Popen(command, stdout=written, stderr=written)
        try:
            yield
        finally:
            started.terminate()
            started.wait(30)


def wait(is_there, what: str) -> None:
    """Wait until a server is ready."""
    deadline_s = time.monotonic() + START_S
    while not is_there():
        assert time.monotonic() < deadline_s, f"{what} did not start"
        time.sleep(0.1)


def port_answers(port: int) -> bool:
    """Return whether a server listens on the port."""
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
    added = pages / "wp-content/mu-plugins"
    added.mkdir(parents=True, exist_ok=True)
    shutil.copy(STAND_IN, added)
    url = f"http://127.0.0.1:{port}"
    # A path of a socket may have about a hundred characters.
    listening = folder / "db.sock"
    running = Blog(url, pages, listening, gate)
    running.write_config()
    data = folder / "db"
    user = f"--user={os.environ.get('USER') or 'root'}"
    data.mkdir()
    # Run without user tables, which only a full installation of the server can create. Only this test can reach it.
    database = ["mariadbd", "--no-defaults", f"--datadir={data}", user, f"--socket={listening}"]
    database += ["--skip-networking", "--skip-grant-tables"]
    pid = f"--pid-file={folder / 'db.pid'}"
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, pages=pages, port=port))
    (folder / "fpm.conf").write_text(FPM.format(folder=folder, user=pwd.getpwuid(os.geteuid()).pw_name))
    front = [
        "nginx",
        "-p",
        str(folder),
        "-e",
        "stderr",
        "-c",
        str(folder / "nginx.conf"),
        "-g",
        f"user {pwd.getpwuid(os.geteuid()).pw_name};",
    ]
    fpm = [str(fpm_program()), "--allow-to-run-as-root", "-y", str(folder / "fpm.conf")]
    with process([*database, pid], folder / "db.log"):
        wait(listening.exists, "MariaDB")
        run_php(folder, f"(new mysqli('localhost', 'root', '', '', 0, '{listening}'))->query('CREATE DATABASE blog');")
        assert run_php(pages, INSTALL, PASSWORD).endswith("installed")
        with process(fpm, folder / "php.log"):
            wait((folder / "fpm.sock").exists, "PHP-FPM")
            with process(front, folder / "nginx.log"):
                wait(lambda: port_answers(port), "nginx")
                yield running
