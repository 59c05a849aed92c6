"""`agentgate train` and `agentgate labels export`, from a service's labels to a model file that it would accept."""

import io
import json
import subprocess
import sys

import pytest

from agentgate.decision.scoring.model_file import read_model
from agentgate.decision.scoring.score import make_scorer
from agentgate.events.labels.records import LabelEvidence, StoredLabel
from agentgate.lib.enums import DecisionLabelValue, LabelSource
from agentgate.lib.records import convert
from agentgate.lib.settings.schema import read_settings
from agentgate_tools.training.labels import read_labels
from tests.cli.commands import agentgate, environment
from tests.support.service import ADMIN_KEY, NOON_MS, running_service
from tests.unit.decision.scoring.made_labels import lines, made_labels

QUICK = ("--trees", "5", "--depth", "2", "--folds", "3")


def write_labels(folder, items):
    (folder / "labels.ndjson").write_text(lines(items))
    return "labels.ndjson"


@pytest.mark.parametrize("name", ["train", "labels", "labels export", "labels review"])
def test_each_command_has_help_with_an_example(tmp_path, name):
    result = agentgate(tmp_path, *name.split(), "--help")

    assert result.returncode == 0
    assert f"Example: agentgate {name}" in result.stdout


def test_train_writes_a_model_that_is_accepted_and_a_report(tmp_path):
    name = write_labels(tmp_path, made_labels(240))

    result = agentgate(tmp_path, "train", name, "--kind", "bot", *QUICK)

    assert result.returncode == 0, result.stderr
    model = read_model((tmp_path / "model.json").read_bytes())
    assert (model.kind, model.type, len(model.trees)) == ("bot", "trees", 5)
    page = (tmp_path / "report.html").read_text()
    assert model.version in page
    assert result.stdout.startswith(f"{model.version}: 240 labels of 60 visitors, ")
    assert "Warning: There are only 240 labels." in result.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.ndjson", "model.json", "report.html"]


def texts(count):
    words = {"good": "thank you for the parcel it came on monday", "spam": "check out my channel free gift www.x.com"}
    lines = ["label\tsource\ttext"]
    for number in range(count):
        label = ("good", "spam")[number % 2]
        lines.append(f"{label}\tsource{number % 3}\t{words[label]} {number}")
    return "\n".join(lines) + "\n"


def test_train_content_writes_a_model_without_any_text(tmp_path):
    (tmp_path / "texts.tsv").write_text(texts(240))

    result = agentgate(tmp_path, "train", "content", "texts.tsv")

    assert result.returncode == 0, result.stderr
    file = (tmp_path / "model.json").read_text()
    model = read_model(file)
    scorer = make_scorer(model)
    assert (model.kind, model.type) == ("content", "logistic")
    assert scorer.score_text((), {}, "check out this free channel") > 0.8
    assert scorer.score_text((), {}, "the parcel came, thank you") < 0.2
    assert "parcel" not in file
    assert "source1" in result.stdout


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("good\ta\tb\n", "the first line must be label source text"),
        ("label\tsource\ttext\nham\ta\tb\n", "line 2 must be spam or good"),
        (texts(20), "at least 200 texts are needed"),
    ],
)
def test_texts_that_cannot_be_learned_from_are_rejected(tmp_path, content, told):
    (tmp_path / "texts.tsv").write_text(content)

    result = agentgate(tmp_path, "train", "content", "texts.tsv")

    assert result.returncode == 2
    assert told in result.stderr
    assert not (tmp_path / "model.json").exists()


def test_doubtful_labels_are_listed_first_and_by_user(tmp_path):
    items = made_labels(400)
    wrong = next(item for item in items if item["label"] == "bot" and "ua.headless" in item["evidence"]["labels"])
    wrong["evidence"]["labels"] += ["http.unlike_browser"]
    wrong |= {"label": "human", "actor": "mallory"}
    name = write_labels(tmp_path, items)

    result = agentgate(tmp_path, "labels", "review", name)

    assert result.returncode == 0, result.stderr
    assert wrong["decisionId"] in result.stdout
    assert "mallory" in result.stdout


def test_train_reads_standard_input_and_writes_where_it_is_reported(tmp_path, monkeypatch):
    page = json.dumps({"items": made_labels(240, kinds=("agent", "human", "bot"))})
    monkeypatch.setattr("sys.stdin", io.StringIO(page))
    files = ("--out", "a.json", "--report", "a.html")

    result = agentgate(tmp_path, "train", "-", "--kind", "agent", "--type", "logistic", *files)

    assert result.returncode == 0, result.stderr
    assert read_model((tmp_path / "a.json").read_bytes()).type == "logistic"
    assert (tmp_path / "a.html").exists()


def test_the_same_command_writes_the_same_files(tmp_path):
    name = write_labels(tmp_path, made_labels(240))

    for number in ("1", "2"):
        files = ("--out", f"{number}.json", "--report", f"{number}.html")
        agentgate(tmp_path, "train", name, "--kind", "bot", *QUICK, *files)

    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()
    assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()


@pytest.mark.parametrize(
    ("content", "arguments", "told"),
    [
        (lines(made_labels(60)), (), "60 of 60 labels can be used for kind bot (bot and human), and at least 100"),
        (lines(made_labels(120, kinds=("bot",))), (), "only 0 usable label(s) are human"),
        (lines(made_labels(3)) + "{", (), "line 4 is not JSON"),
        (lines(made_labels(120)), ("--kind", "robot"), "robot"),
        (lines(made_labels(120)), ("--trees", "501"), "Invalid value for '--trees'"),
        (
            lines(made_labels(120)),
            ("--out", "gone/model.json"),
            "there is no folder gone for model.json; create it first",
        ),
        (lines(made_labels(120)), ("--report", "model.json"), "--out and --report are the same file; give two files"),
        (b"\xff\xfe", (), "is not UTF-8 text"),
        (None, (), "labels.ndjson cannot be read"),
    ],
)
def test_what_cannot_be_learned_from_is_rejected_and_nothing_is_written(tmp_path, content, arguments, told):
    if content is not None:
        (tmp_path / "labels.ndjson").write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(tmp_path.iterdir())

    result = agentgate(tmp_path, "train", "labels.ndjson", "--kind", "bot", *arguments)

    assert result.returncode == 2
    assert told in result.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_without_the_library_the_command_shows_how_to_get_it(tmp_path):
    name = write_labels(tmp_path, made_labels(120))
    program = (
        "import sys; sys.modules['sklearn'] = None\n"
        f"from agentgate.server.cli import run; sys.exit(run(['train', {name!r}, '--kind', 'bot']))"
    )

    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert result.returncode == 2
    assert "run: pip install scikit-learn" in result.stderr
    assert not (tmp_path / "model.json").exists()


def test_the_service_and_the_other_commands_do_without_the_library(tmp_path):
    imports = "import sys, agentgate.server.application, agentgate.server.cli"
    program = f"{imports}; sys.exit('sklearn' in sys.modules or 'numpy' in sys.modules)"

    result = subprocess.run(
        [sys.executable, "-c", program], env=environment(tmp_path), capture_output=True, timeout=60, check=False
    )

    assert result.returncode == 0, result.stderr


@pytest.fixture
def service(tmp_path):
    environ = {
        "AGENTGATE_DATA_DIR": str(tmp_path / "service"),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_DRAIN_SECONDS": "0",
        "AGENTGATE_CONFIRM_CRAWLERS": "off",
    }
    with running_service(read_settings(environ)) as running:
        yield running


def store_labels(service, items):
    """Store label objects in the service for a new site; return the site's key."""
    site = service.operator.post("/v1/admin/sites", json={"name": "Shop"}).json()
    site_id, site_key = site["id"], site["siteKey"]

    async def work(stores):
        for number, item in enumerate(items):
            await stores.decision_labels.save_label(
                StoredLabel(
                    site_id=site_id,
                    decision=number + 1,
                    label=DecisionLabelValue(item["label"]),
                    source=LabelSource(item["source"]),
                    note=None,
                    actor="operator",
                    created_ms=NOON_MS + number,
                    updated_ms=NOON_MS + number,
                    evidence=convert(item["evidence"], LabelEvidence),
                )
            )

    service.run(service.application.stores.store.change(work))
    return site_key


def test_labels_are_exported_over_all_pages(tmp_path, service):
    items = made_labels(1001)
    site_key = store_labels(service, items)

    exported = agentgate(
        tmp_path, "labels", "export", "--url", service.admin_url, "--site-key", site_key, AGENTGATE_ADMIN_KEY=ADMIN_KEY
    )

    assert exported.returncode == 0, exported.stderr
    assert exported.stderr == "1001 labels\n"
    rows = [json.loads(line) for line in exported.stdout.splitlines()]
    assert [row["evidence"]["labels"] for row in rows] == [item["evidence"]["labels"] for item in items]
    assert len(read_labels(exported.stdout)) == 1001


def test_the_service_takes_what_was_trained_on_its_labels_as_a_candidate(tmp_path, service):
    site_key = store_labels(service, made_labels(240))
    exported = agentgate(
        tmp_path, "labels", "export", "--url", service.admin_url, "--site-key", site_key, AGENTGATE_ADMIN_KEY=ADMIN_KEY
    )
    (tmp_path / "labels.ndjson").write_text(exported.stdout)
    trained = agentgate(tmp_path, "train", "labels.ndjson", "--kind", "bot", *QUICK)
    model = json.loads((tmp_path / "model.json").read_bytes())

    installed = service.operator.put("/v1/admin/models/bot/candidate", json=model)

    assert trained.returncode == 0, trained.stderr
    assert installed.status_code == 200, installed.text
    assert installed.json()["version"] == model["version"]


def test_the_operator_credential_is_found_in_the_data_directory(tmp_path, service):
    site_key = store_labels(service, made_labels(2))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "admin.key").write_text(ADMIN_KEY + "\n")

    result = agentgate(tmp_path, "labels", "export", "--url", service.admin_url, "--site-key", site_key)

    assert (result.returncode, len(result.stdout.splitlines())) == (0, 2), result.stderr


@pytest.mark.parametrize(
    ("key", "site_key", "told"),
    [
        (ADMIN_KEY, "site_gone1234", "the service answered 404: "),
        (ADMIN_KEY + "x", "site_gone1234", "the service answered 401: unauthorized"),
    ],
)
def test_what_the_service_rejects_is_reported(tmp_path, service, key, site_key, told):
    result = agentgate(
        tmp_path, "labels", "export", "--url", service.admin_url, "--site-key", site_key, AGENTGATE_ADMIN_KEY=key
    )

    assert result.returncode == 2
    assert told in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("file:///etc/passwd", "is not the address of a listener; give one such as http://127.0.0.1:8081"),
        ("http://127.0.0.1:1/x", "is not the address of a listener"),
        ("http://127.0.0.1:1", "127.0.0.1:1 cannot be reached"),
    ],
)
def test_an_address_that_is_not_a_listener_is_rejected(tmp_path, url, told):
    result = agentgate(
        tmp_path, "labels", "export", "--url", url, "--site-key", "site_x1234", AGENTGATE_ADMIN_KEY=ADMIN_KEY
    )

    assert result.returncode == 2
    assert told in result.stderr


def test_without_a_credential_the_export_shows_where_one_is_looked_for(tmp_path):
    result = agentgate(tmp_path, "labels", "export", "--site-key", "site_x1234")

    assert result.returncode == 2
    assert "there is no operator credential in" in result.stderr
    assert "set AGENTGATE_DATA_DIR" in result.stderr
