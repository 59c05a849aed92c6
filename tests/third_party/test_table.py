"""The table in docs/migrate-captcha.md names each package that is run here, and how its host is configured."""

import json
import re
from collections import Counter

from tests.third_party.browser_packages import PACKAGES
from tests.third_party.install import HERE
from tests.third_party.server_packages import DEBIAN, NODE, PYTHON

PAGE = HERE.parents[1] / "docs" / "migrate-captcha.md"
SERVICES = {"turnstile": "Turnstile", "recaptcha": "reCAPTCHA", "hcaptcha": "hCaptcha"}


def versions() -> dict[str, str]:
    """Return the version of each package, as it is pinned."""
    pinned = re.findall(
        r"^([a-z0-9.-]+)==([^ ]+)", (HERE / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE
    )
    node = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    return {**dict(pinned), **{name: node[f"node_modules/{name}"]["version"] for name in node[""]["dependencies"]}}


def table() -> str:
    """Return the tables of the page."""
    known = versions()
    browser = [
        f"| `{row.name}` {known[row.name]} | {SERVICES[row.service]} | {row.framework} | {row.change} |"
        for row in PACKAGES
    ]
    server = []
    for row in (*PYTHON, *NODE, *DEBIAN):
        name, _, told = row.name.partition(" (")
        version = known[name if row.language == "Node.js" else name.lower()] if row in (*PYTHON, *NODE) else ""
        shown = f"`{name}`{f' {version}' if version else ''}{f' ({told}' if told else ''}"
        server.append(f"| {shown} | {SERVICES[row.service]} | {row.language} | {row.change} |")
    head = "| Package | Written for | {} | What changes |\n| --- | --- | --- | --- |\n"
    return f"{head.format('With')}{chr(10).join(browser)}\n\n{head.format('Language')}{chr(10).join(server)}\n"


def test_the_page_has_a_line_for_each_package() -> None:
    # To regenerate it: python -c "from tests.third_party.test_table import table; print(table())"
    for part in table().split("\n\n"):
        assert part.strip() in PAGE.read_text(encoding="utf-8")


def test_there_are_forty_and_no_package_is_counted_twice() -> None:
    names = Counter(row.name for row in (*PACKAGES, *PYTHON, *NODE, *DEBIAN))

    assert len(names) >= 40
    assert names.most_common(1)[0][1] == 1
    assert f"{len(names)} packages" in PAGE.read_text(encoding="utf-8")
