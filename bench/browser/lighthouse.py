"""Lighthouse on the console's busiest pages: `python -m bench.browser.lighthouse <folder> <printed address>`.

Lighthouse is not among the packages that are installed for tests: `npm install --prefix <folder> lighthouse` brings it.
Each page is measured three times and the best counts, because whatever else the machine does only takes points away.
The address is the one that `agentgate serve --demo` prints, with the demo's name and password behind the `#`. Prints
the scores and what costs points; fails below 95.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

SITE = "site_demo_shop"
EMAIL = "demo@agentgate.example"
ROUNDS = 3
PAGES = ("overview", "decisions")
WANTED = {"performance": 95, "accessibility": 95}


def sign_in(address: str) -> tuple[str, str]:
    """Sign in as the demo's owner; return the origin and the cookies."""
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc}"
    body = {"email": EMAIL, "password": parts.fragment.partition(":")[2]}
    answer = httpx.post(f"{origin}/v1/account/login", json=body)
    answer.raise_for_status()
    return origin, "; ".join(f"{name}={value}" for name, value in answer.cookies.items())


def measure(folder: Path, url: str, cookies: str) -> dict[str, Any]:
    """Run Lighthouse as it comes, on a desktop; return its report."""
    command = [
        str(folder / "node_modules" / ".bin" / "lighthouse"),
        url,
        "--quiet",
        "--output=json",
        "--preset=desktop",
        "--only-categories=" + ",".join(WANTED),
        "--chrome-flags=--headless=new --no-sandbox",
        f"--extra-headers={json.dumps({'Cookie': cookies})}",
    ]
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or ""
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=180, check=True, env={**os.environ, "CHROME_PATH": chromium}
    )
    report: dict[str, Any] = json.loads(run.stdout)
    return report


def best_of(folder: Path, url: str, cookies: str) -> dict[str, Any]:
    """Return the best report of several runs."""
    reports = [measure(folder, url, cookies) for _ in range(ROUNDS)]
    return max(reports, key=lambda report: float(report["categories"]["performance"]["score"]))


def show(name: str, report: dict[str, Any]) -> bool:
    """Print a page's scores and what costs points; return whether they are high enough."""
    scores = {kind: round(report["categories"][kind]["score"] * 100) for kind in WANTED}
    timings = ("first-contentful-paint", "largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift")
    print(f"{name}: {scores}", {each: report["audits"][each]["displayValue"] for each in timings})
    for kind in WANTED:
        for part in report["categories"][kind]["auditRefs"]:
            audit = report["audits"][part["id"]]
            if part["weight"] and audit["score"] is not None and audit["score"] < 1:
                print(f"  {kind}: {audit['title']}: {audit.get('displayValue', audit['score'])}")
    return all(scores[kind] >= at_least for kind, at_least in WANTED.items())


def main() -> int:
    """Measure every page."""
    folder, address = Path(sys.argv[1]), sys.argv[2]
    origin, cookies = sign_in(address)
    reports = {name: best_of(folder, f"{origin}/console/sites/{SITE}/{name}", cookies) for name in PAGES}
    enough = [show(name, report) for name, report in reports.items()]
    return 0 if all(enough) else 1


if __name__ == "__main__":
    sys.exit(main())
