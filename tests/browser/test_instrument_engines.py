"""The instrument in real engines, which all find the solution, and in documents written in JavaScript, which do not."""

import os
from pathlib import Path

import pytest

from agentgate.browser_check.instrument.program import (
    InstrumentAnswer,
    check_answer,
    make_program,
    right_answer,
)
from tests.browser.chromium import firefox_path
from tests.browser.node_runs import run_node
from tests.browser.origin import page_server

# Several engines start for the first of these tests, and share the machine with others.
pytestmark = pytest.mark.timeout(300)

PAGES = Path(__file__).parent / "pages"
# `make soak` asks for many more.
PROGRAMS = int(os.environ.get("INSTRUMENT_PROGRAMS", "90"))
FIREFOX_PROGRAMS = PROGRAMS // 3
# Of the variants of an engine that already has all of them.
VARIANT_PROGRAMS = PROGRAMS // 3
HARD_PROGRAMS = 20
NOT_BROWSERS = {
    "jsdom": PROGRAMS,
    "jsdom visual": VARIANT_PROGRAMS,
    "jsdom constant": PROGRAMS,
    "jsdom styled": VARIANT_PROGRAMS,
    "happy-dom": PROGRAMS,
    "happy-dom constant": PROGRAMS,
    "happy-dom styled": VARIANT_PROGRAMS,
    "node": VARIANT_PROGRAMS,
    "node with a document": VARIANT_PROGRAMS,
}
# In the page and then in a worker made of a Blob, as the SDK does it.
RUN = """async (programs) => {
  const inPage = ({ id, script }) => new Promise((resolve) => {
    globalThis[`agentgate:${id}`] = resolve;
    const element = document.createElement("script");
    element.src = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    element.onerror = () => resolve("not run");
    document.documentElement.append(element);
  });
  const inWorker = ({ id, script }) => new Promise((resolve) => {
    const start = `globalThis["agentgate:${id}"]=(answer)=>postMessage(answer);`;
    const worker = new Worker(URL.createObjectURL(new Blob([start, script], { type: "text/javascript" })));
    worker.onmessage = (event) => { worker.terminate(); resolve(event.data); };
    worker.onerror = () => resolve("not run");
  });
  const answers = [];
  for (const program of programs) answers.push([await inPage(program), await inWorker(program)]);
  return answers;
}"""
# Everything in a page that a program could lean on and some page has replaced.
REPLACED = """
(function () {
  var refuse = function () { throw new TypeError("replaced"); };
  var kinds = [Array, String, Number, RegExp, Date, Boolean], i, names, j;
  for (i = 0; i < kinds.length; i++) {
    names = Object.getOwnPropertyNames(kinds[i].prototype);
    for (j = 0; j < names.length; j++)
      if (names[j] !== "constructor" && typeof kinds[i].prototype[names[j]] === "function")
        kinds[i].prototype[names[j]] = refuse;
  }
  Function.prototype.toString = Function.prototype.call = Function.prototype.apply = Function.prototype.bind = refuse;
  Object.keys = Object.assign = Object.entries = JSON.stringify = JSON.parse = refuse;
  Math.imul = Math.floor = Math.round = Math.abs = function () { return 7; };
  EventTarget.prototype.addEventListener = Element.prototype.remove = Element.prototype.append = refuse;
  Object.prototype.mode = "open";
  Object.prototype.bubbles = Object.prototype.get = Object.prototype.value = undefined;
})();
"""
# An element with the text runs at once, so the time is the program's own.
TIMED = """(programs) => programs.map(({ id, script }) => {
  globalThis[`agentgate:${id}`] = () => {};
  const element = document.createElement("script");
  element.textContent = script;
  const start = performance.now();
  document.documentElement.append(element);
  return performance.now() - start;
})"""
HOSTILE_CSS = (
    "*{display:none!important;width:1px!important;height:1px!important;zoom:2;transform:scale(.5)!important;"
    "float:right!important;margin:3px!important;position:static!important;direction:rtl!important}"
)


def seed(number):
    return number.to_bytes(16, "big")


def made(count):
    """Return programs, each for a separate challenge."""
    return [{"id": f"ch_{number}", "script": make_program(seed(number), f"ch_{number}")} for number in range(count)]


def right(count):
    answers = [right_answer(seed(number), f"ch_{number}") for number in range(count)]
    return [[answer.page, answer.worker] for answer in answers]


@pytest.fixture
def pages():
    with page_server() as server:
        yield server


@pytest.fixture(scope="module")
def elsewhere():
    """The solutions of every engine that is not a browser."""
    return run_node("documents.mjs", {"programs": made(PROGRAMS), "counts": NOT_BROWSERS})


def answers_of_a_page(page, pages, html, *, before="", after=""):
    """Run programs as scripts of the page itself, and read the solutions from the console, which cannot be replaced."""
    scripts = []
    for program in made(HARD_PROGRAMS):
        pages.serve(f"/{program['id']}.js", program["script"], Content_Type="text/javascript")
        scripts.append(f"<script src=/{program['id']}.js></script>")
    collect = f"""var answers = ""; var log = console.log;
      for (var i = 0; i < {HARD_PROGRAMS}; i++)
        globalThis["agentgate:ch_" + i] = function (answer) {{ answers += answer + " "; }};"""
    pages.serve("/before.js", f"{collect}\n{before}", Content_Type="text/javascript")
    pages.serve("/after.js", f"{after}\nlog(answers);", Content_Type="text/javascript")
    html += f"<script src=/before.js></script>{''.join(scripts)}<script src=/after.js></script>"
    policy = "default-src 'none'; script-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
    if "<style>" in html:
        policy += "; style-src 'unsafe-inline'"
    with page.expect_console_message(lambda message: len(message.text) > 30) as logged:
        page.goto(pages.serve("/", html, Content_Security_Policy=policy))
    return logged.value.text.split()


def right_in_page():
    return [page for page, _ in right(HARD_PROGRAMS)]


def test_chromium_finds_every_result_in_the_page_and_in_a_worker(page):
    page.set_content("<!doctype html><p>A page.")

    assert page.evaluate(RUN, made(PROGRAMS)) == right(PROGRAMS)


def test_firefox_finds_every_result_in_the_page_and_in_a_worker(pages):
    url = pages.serve("/", "<!doctype html><html><head></head><body><p>A page.</body></html>")
    given = {"executable": firefox_path(), "url": url, "programs": made(FIREFOX_PROGRAMS)}

    assert run_node("firefox.mjs", given) == right(FIREFOX_PROGRAMS)


@pytest.mark.parametrize("engine", NOT_BROWSERS)
def test_what_is_not_a_browser_never_finds_the_result(elsewhere, engine):
    answers = elsewhere[engine]

    assert len(answers) == NOT_BROWSERS[engine]
    for number, answer in enumerate(answers):
        assert not check_answer(seed(number), f"ch_{number}", InstrumentAnswer(page=answer or ""))


def test_documents_written_in_javascript_run_the_programs_to_their_end(elsewhere):
    # The documents fail because of the environment that the programs find, not because a program cannot run.
    for engine in ("jsdom", "jsdom styled", "happy-dom", "happy-dom styled"):
        assert sum(len(answer or "") == 32 for answer in elsewhere[engine]) > NOT_BROWSERS[engine] * 0.9


def test_a_page_with_replaced_methods_gives_the_right_results(page, pages):
    assert answers_of_a_page(page, pages, "<!doctype html><p>A page.", before=REPLACED) == right_in_page()


@pytest.mark.parametrize("name", ["polluted_objects.js", "prototype_library.js", "throwing_methods.js"])
def test_a_page_with_old_libraries_gives_the_right_results(page, pages, name):
    before = (PAGES / name).read_text()

    assert answers_of_a_page(page, pages, "<!doctype html><p>A page.", before=before) == right_in_page()


@pytest.mark.parametrize(
    "html",
    [
        f"<!doctype html><html dir=rtl><style>{HOSTILE_CSS}</style><body>A page.",
        "<!doctype html><html><style>html{display:none!important;zoom:1.37;writing-mode:vertical-rl}</style>",
        "<html hidden dir=rtl><style>html{columns:3;contain:strict;zoom:.7}html>div{zoom:3!important}</style>",
        "<!doctype html><html><style>@layer a{*{all:unset!important;transition:all 9s!important}}</style>",
        "<!doctype html><img name=createElement><img name=documentElement><img name=all><img name=createRange>",
    ],
    ids=["hostile style sheet", "hidden", "quirks", "layer", "named elements"],
)
def test_a_hostile_page_gives_the_right_results(page, pages, html):
    assert answers_of_a_page(page, pages, html) == right_in_page()


def test_a_page_whose_body_is_not_there_yet_gives_the_right_results(page, pages):
    # Scripts in the head run before there is a body.
    answers = answers_of_a_page(page, pages, "<!doctype html><html><head>", after="answers += document.body;")

    assert answers == [*right_in_page(), "null"]


@pytest.mark.parametrize("ratio", [0.33, 0.67, 1.1, 2.625])
def test_every_pixel_ratio_gives_the_right_results(browser, pages, ratio):
    context = browser.new_context(device_scale_factor=ratio, viewport={"width": 320, "height": 480})
    try:
        answers = answers_of_a_page(context.new_page(), pages, "<!doctype html><p>A page.")
    finally:
        context.close()

    assert answers == right_in_page()


def test_a_strict_page_sees_no_violation_and_is_left_as_it_was(page, pages):
    before = """
      var violations = 0; document.addEventListener("securitypolicyviolation", function () { violations++; });
      document.documentElement.className = "kept"; var html = function () {
        return document.documentElement.cloneNode(false).outerHTML + document.documentElement.children.length; };
      var start = html(), errors = 0, own = Reflect.ownKeys(globalThis).length;
      addEventListener("error", function () { errors++; });"""
    # The global functions for the solutions exist before the count begins.
    after = """
      answers += violations + " " + errors + " " + (start === html());
      answers += " " + (Reflect.ownKeys(globalThis).length - own);"""
    answers = answers_of_a_page(page, pages, "<!doctype html><html><p>A page.", before=before, after=after)

    assert answers == [*right_in_page(), "0", "0", "true", "0"]


def test_a_hidden_root_element_is_hidden_again(page, pages):
    before = "document.documentElement.style.setProperty('display', 'none', 'important');"
    after = "answers += document.documentElement.getAttribute('style').split(' ').join('');"
    answers = answers_of_a_page(page, pages, "<!doctype html><html><p>A page.", before=before, after=after)

    assert answers == [*right_in_page(), "display:none!important;"]


def test_a_program_keeps_the_main_thread_for_a_few_milliseconds(page):
    page.set_content("<!doctype html><p>A page.")
    took_ms = page.evaluate(TIMED, made(41))

    # The middle one: what else the machine does meanwhile is not the program's.
    assert sorted(took_ms)[20] < 15
