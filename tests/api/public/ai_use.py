"""The AI use of a site, set as its owner does."""

from tests.support.gateway import Gate


def use_for(gate: Gate, **choices: str) -> None:
    gate.service.operator.patch(f"/v1/admin/sites/{gate.site_key}", json={"aiUse": choices})
    gate.service.run(gate.service.application.refresher.sites.await_refresh())
