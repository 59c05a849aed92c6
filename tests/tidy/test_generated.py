"""Generated files that are committed match the current output of their generators."""

import json

from tests.tidy.sources import ROOT
from tools.generate import COMMAND, generated_files, main, stale_files, write_files


def test_no_generated_file_is_stale():
    assert stale_files(ROOT) == [], f"run: {COMMAND}"


def test_a_changed_and_a_missing_file_are_found_and_written_again(tmp_path):
    paths = list(generated_files())
    assert write_files(tmp_path) == paths
    assert stale_files(tmp_path) == []

    (tmp_path / paths[0]).write_text("{}")
    (tmp_path / paths[1]).unlink()

    assert stale_files(tmp_path) == paths[:2]
    assert write_files(tmp_path) == paths[:2]
    assert stale_files(tmp_path) == []


def test_the_check_writes_nothing_and_shows_it_with_its_status(capsys):
    assert main(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_every_generated_file_shows_it_at_its_top():
    # A command also prints the page of settings, so the page names its generator in its text.
    for path, text in generated_files().items():
        opening = "\n".join(text.splitlines()[:3]) if path == "docs/settings.md" else text.splitlines()[0]

        assert "generated" in opening.lower(), path
        assert text.endswith("\n")
        assert not text.endswith("\n\n")


def test_the_documents_are_json_with_the_version_of_the_contract():
    documents = {path: json.loads(text) for path, text in generated_files().items() if "/openapi/" in path}

    assert "docs/openapi/admin.json" in documents
    assert {described["info"]["version"] for described in documents.values()} == {"1.0.0"}


def test_the_map_names_the_file_of_every_handler():
    text = generated_files()["docs/contributing/map.md"]

    assert "| `POST /v1/admin/sites` | `create_site` | [src/agentgate/sites/endpoints.py](" in text
    assert "| [`sites`](../../src/agentgate/sites) |" in text
