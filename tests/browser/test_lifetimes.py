"""Checks that are stopped at any moment, and widgets that come and go: everything settles and nothing is left over."""

import random

import pytest

from tests.browser.steps import execute, wait_for

PLAIN = "<!doctype html><html lang=en><title>Plain</title>{script}<body><main></main>"
SEEDS = 30
# Leaked objects remain permanently. A busy machine only needs more time to collect the others.
SETTLED_S = 60
VISITS = 50

ABORT = """async ([options, delayMs]) => {
  const stop = new AbortController();
  const beganMs = performance.now();
  let stoppedMs;
  const timer = setTimeout(() => { stoppedMs = performance.now(); stop.abort(); }, delayMs);
  const settled = await agentgate.execute({...options, signal: stop.signal}).then(() => 'token', (error) => error.code);
  clearTimeout(timer);
  const endedMs = performance.now();
  return {settled, tookMs: endedMs - beganMs, lateMs: stoppedMs === undefined ? null : endedMs - stoppedMs};
}"""
VISIT = """(options) => new Promise((resolve) => {
  const element = document.createElement('div');
  element.className = 'agentgate';
  for (const name in options) element.dataset[name] = options[name];
  document.querySelector('main').append(element);
  setTimeout(() => { element.remove(); setTimeout(resolve, 5); }, options.stayMs);
})"""


@pytest.fixture
def plain_page(page, site):
    """A plain page with the SDK, open."""
    page.goto(site.serve(PLAIN.format(script=site.script(""))))
    return page


def test_a_check_that_is_stopped_at_any_moment_settles_as_aborted(plain_page, site):
    options = {"sitekey": site.site_key, "action": site.action}
    # The first check also loads and compiles.
    assert "token" in execute(plain_page, site)
    found = [plain_page.evaluate(ABORT, [options, 60_000])]
    for seed in range(SEEDS):
        # How long a check takes changes with what else the machine does: the last one that was not stopped tells.
        usual_ms = [row["tookMs"] for row in found if row["lateMs"] is None][-1]
        found.append(plain_page.evaluate(ABORT, [options, random.Random(seed).uniform(0, usual_ms)]))

    # A check that finished before its stop has a token; no other result is allowed.
    stopped = [row for row in found if row["lateMs"] is not None]
    assert {row["settled"] for row in stopped} == {"aborted"}
    assert {row["settled"] for row in found if row["lateMs"] is None} <= {"token"}
    assert len(stopped) > SEEDS // 4
    assert max(row["lateMs"] for row in stopped) < 200
    wait_for(plain_page, lambda: not plain_page.workers)


def test_a_signal_that_was_aborted_before_stops_the_check_at_once(plain_page, site):
    asked = []
    plain_page.on("request", lambda request: asked.append(request.url))
    script = (
        "(options) => agentgate.execute({...options, signal: AbortSignal.abort()}).then(() => 0, (error) => error.code)"
    )

    assert plain_page.evaluate(script, {"sitekey": site.site_key, "action": site.action}) == "aborted"
    assert not [url for url in asked if "/v1/browser/" in url]


def counts(page):
    """Return how many listeners and nodes the browser holds for the page, after collecting what can be collected."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.enable")
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics = {row["name"]: row["value"] for row in session.send("Performance.getMetrics")["metrics"]}
    session.detach()
    return {name: metrics[name] for name in ("JSEventListeners", "Nodes")}


@pytest.mark.parametrize("mode", ["invisible", "managed"])
def test_a_widget_that_comes_and_goes_fifty_times_leaves_nothing_behind(plain_page, site, mode):
    options = {"sitekey": site.site_key, "action": site.action, "mode": mode, "stayMs": 0}
    for _ in range(3):
        plain_page.evaluate(VISIT, {**options, "stayMs": 100})
    wait_for(plain_page, lambda: not plain_page.workers)
    before, elements = counts(plain_page), plain_page.evaluate("document.querySelectorAll('*').length")

    for number in range(VISITS):
        plain_page.evaluate(VISIT, {**options, "stayMs": number % 5 * 10})
    wait_for(plain_page, lambda: not plain_page.workers, timeout_s=SETTLED_S)

    # A script that is on its way stays until it has come.
    left = lambda: plain_page.evaluate("document.querySelectorAll('*').length")  # noqa: E731
    wait_for(plain_page, lambda: left() == elements, timeout_s=SETTLED_S)
    # A worker's first word is waited for some seconds, and so long its listeners are held.
    wait_for(plain_page, lambda: all(counts(plain_page)[name] <= before[name] for name in before), timeout_s=SETTLED_S)


def test_a_widget_that_comes_back_gets_its_token(plain_page, site):
    options = {"sitekey": site.site_key, "action": site.action, "stayMs": 20}
    for _ in range(5):
        plain_page.evaluate(VISIT, options)
    plain_page.evaluate(
        "(options) => { const element = document.createElement('div'); element.className = 'agentgate';"
        " Object.assign(element.dataset, options); document.querySelector('main').append(element); }",
        options,
    )

    token = wait_for(plain_page, lambda: plain_page.evaluate("document.querySelector('[name=agentgate-token]')?.value"))
    assert site.redeem(token).status_code == 200
    wait_for(plain_page, lambda: not plain_page.workers)
