"""A check never holds the page's own thread for longer than 50 ms, with a worker and without.

The test measures the CPU time of each task: other programs on a busy machine can increase its wall time, but not that.
"""

import json

import pytest

from tests.browser.steps import check_token, execute

PLAIN = "<!doctype html><html lang=en><title>Plain</title>{script}<body>{body}"
MOST_MS = 50.0
# In addition to our own tasks, record each rAF and timer gap during the check.
WATCH = """() => {
  window.gaps = []; window.long = [];
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => window.long.push(entry.duration)))
    .observe({type: 'longtask'});
  let last = performance.now();
  const tick = () => { const now = performance.now(); window.gaps.push(now - last); last = now; setTimeout(tick, 4); };
  tick();
}"""


def longest_task_ms(chromium, page, run):
    """Run a function under the browser's tracing; return the longest CPU time of a task in the page's thread."""
    browser = chromium.browser
    browser.start_tracing(
        page=page, categories=["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]
    )
    try:
        run()
    finally:
        trace = browser.stop_tracing()
    events = json.loads(trace)["traceEvents"]
    process = _process_of(events, page.url.partition("?")[0].rpartition("/")[0])
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and event["args"].get("name") == "CrRendererMain"
    }
    tasks = [
        event["tdur"] / 1000
        for event in events
        if event.get("ph") == "X" and "tdur" in event and event["pid"] == process and (process, event["tid"]) in threads
    ]
    assert len(tasks) > 20, "the trace holds no tasks of the page"
    return max(tasks)


def _process_of(events, url):
    """Return the process that shows the page."""
    for event in events:
        frames = event.get("args", {}).get("data", {})
        listed = frames.get("frames", []) if isinstance(frames, dict) else []
        for frame in listed:
            if frame.get("url", "").startswith(url) and "processId" in frame:
                return frame["processId"]
    raise AssertionError("the trace does not name the page")


@pytest.mark.parametrize("workers", [True, False])
def test_no_task_of_a_check_is_longer_than_fifty_milliseconds(chromium, page, site, workers):
    if not workers:
        page.add_init_script("delete window.Worker;")
    page.goto(site.serve(PLAIN.format(script=site.script(), body="")))
    results, longest_ms = [], []

    # A busy machine only ever adds time, so the shortest of three runs counts. Reload the page for each run.
    for _ in range(3):
        longest_ms.append(longest_task_ms(chromium, page, lambda: results.append(execute(page, site))))
        if longest_ms[-1] <= MOST_MS:
            break
        page.reload()

    check_token(site, results[0])
    assert min(longest_ms) <= MOST_MS, longest_ms


def test_loading_the_sdk_is_no_long_task(chromium, page, site):
    page.goto(site.serve("<!doctype html><html lang=en><title>Before</title>", path="/before"))
    address = site.serve(PLAIN.format(script=site.script(), body=""), path="/after")

    longest_ms = [longest_task_ms(chromium, page, lambda: page.goto(address)) for _ in range(3)]

    # A busy machine only ever adds time.
    assert min(longest_ms) <= MOST_MS, longest_ms


def test_the_browser_itself_reports_no_long_task(page, site):
    page.goto(site.serve(PLAIN.format(script=site.script(), body="")))
    page.evaluate(WATCH)
    page.wait_for_timeout(300)
    seen = []
    # Wall time: other programs of the machine lengthen a task, so a few undisturbed checks are enough.
    while len([ms for ms in seen if ms <= MOST_MS]) < 3 and len(seen) < 20:
        page.evaluate("window.long = []; window.gaps = []")
        assert "token" in execute(page, site)
        page.wait_for_timeout(60)
        seen.append(page.evaluate("Math.max(0, ...window.long)"))

    assert sorted(seen)[2] <= MOST_MS, seen
