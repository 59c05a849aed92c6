"""A stock Chromium with an extension whose content script fills in the form and sends it: no event of any device."""

import json
import time

from bench.adversaries.drivers.job import Job, read_job, state
from bench.adversaries.drivers.screen import virtual_screen
from bench.adversaries.drivers.stock import Setup, end, start

SEND = {
    "click": "document.getElementById('send').click()",
    "request": "document.getElementById('form').requestSubmit()",
    "submit": "document.getElementById('form').submit()",
}
# It waits for the end of the check at load: then the page has a token, if it ever gets one by itself.
SCRIPT = """setTimeout(() => {
  const texts = TEXTS;
  for (const id in texts) {
    const field = document.getElementById(id);
    field.value = texts[id];
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
  SEND;
}, 6000);
"""


def main() -> None:
    """Be one browser with such an extension for one session."""
    job = read_job()
    write_extension(job)
    arguments = (
        f"--load-extension={job.folder / 'filler'}",
        "--disable-features=DisableLoadExtensionCommandLineSwitch",
    )
    with virtual_screen() as screen:
        browser = start(Setup(arguments=arguments), job.page, screen, job.folder)
        try:
            until_s = time.monotonic() + job.seconds / 2
            while time.monotonic() < until_s and not state(job)["sent"]:
                time.sleep(0.3)
        finally:
            end(browser)


def write_extension(job: Job) -> None:
    """Write the extension's two files."""
    folder = job.folder / "filler"
    folder.mkdir()
    scripts = [{"matches": ["http://127.0.0.1/*"], "js": ["fill.js"], "run_at": "document_idle"}]
    manifest = {"manifest_version": 3, "name": "Filler", "version": "1", "content_scripts": scripts}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    texts = {"name": job.name, "email": job.email, "message": job.text}
    send = SEND[job.variant.split()[0]]
    (folder / "fill.js").write_text(SCRIPT.replace("TEXTS", json.dumps(texts)).replace("SEND", send))


if __name__ == "__main__":
    main()
