"""Requests generated from the OpenAPI document: no fault, no undocumented status, no response outside its schema."""

from pathlib import Path

import pytest

from tests.support.fuzzing import fuzz_admin_routes, fuzz_sign_in
from tests.support.processes import serving

SEED = 20_261_115
SITE = "/v1/admin/sites/{siteKey}"
# Without these the run would mostly test the responses about missing things.
WITHIN_REACH = {
    ("GET", "/v1/admin/session", 200),
    ("GET", "/v1/admin/sites", 200),
    ("GET", SITE, 200),
    ("GET", SITE, 404),
    ("GET", f"{SITE}/changes", 200),
    ("GET", f"{SITE}/changes", 400),
    ("PATCH", SITE, 200),
    ("PATCH", SITE, 400),
    ("POST", f"{SITE}/credentials", 409),
    ("POST", f"{SITE}/credentials/{{credId}}/rotate", 409),
    ("POST", f"{SITE}/credentials/{{credId}}/revoke", 200),
    ("POST", f"{SITE}/move", 404),
}


@pytest.mark.timeout(300)
def test_the_admin_api_keeps_to_its_document(tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        # `make soak` goes through every constraint of every field too.
        fuzzed = fuzz_admin_routes(process, requests=400, phases="fuzzing", seed=SEED)

        assert fuzzed.exit_code == 0, fuzzed.said
        assert [each for each in fuzzed.reached if each[2] >= 500] == []
        assert set() == WITHIN_REACH - set(fuzzed.reached)
        assert process.readiness() == 200


def test_the_sign_in_keeps_to_its_document(tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        fuzzed = fuzz_sign_in(process, examples=25, seed=SEED)

        assert fuzzed.exit_code == 0, fuzzed.said
        statuses = {status for method, route, status in fuzzed.reached if route == "/v1/admin/login"}
        assert statuses == {400, 401, 429}
