"""Dashboard and alert rules: Prometheus's own tool takes them, each alert fires when it should, none is missing."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from agentgate.lib.telemetry.series import BY_NAME, SERIES, Merge, SeriesKind
from tests.support.gateway import Gate
from tests.support.service import RunningService
from tests.tidy.sources import ROOT

RULES = ROOT / "deploy" / "prometheus" / "alerts.yaml"
DASHBOARD = ROOT / "deploy" / "grafana" / "agentgate.json"
NAME = re.compile(r"\b(agentgate_\w+|process_\w+)")
SUFFIXES = re.compile(r"_(total|bucket|sum|count)\Z")


def promtool(*arguments: str, stdin: bytes | None = None) -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (Debian's package prometheus has it)")
    done = subprocess.run([found, *arguments], input=stdin, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    return (done.stdout + done.stderr).decode()


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    shown = [target["expr"].replace("$__rate_interval", "5m") for panel in panels for target in panel["targets"]]
    return [*shown, *(rule["expr"] for rule in rules())]


def test_promtool_takes_the_rules() -> None:
    assert f"{len(rules())} rules found" in promtool("check", "rules", str(RULES))


def test_promtool_takes_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    recorded = [{"record": f"x:{number}", "expr": text} for number, text in enumerate(expressions())]
    file = tmp_path / "dashboard.yaml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": recorded}]}))

    promtool("check", "rules", str(file))


def test_every_name_is_a_series_and_every_series_is_shown() -> None:
    named = {SUFFIXES.sub("", name) for text in expressions() for name in NAME.findall(text)}

    assert named <= BY_NAME.keys()
    of_processes = {"process_virtual_memory_bytes", "process_start_time_seconds"}
    assert BY_NAME.keys() - named == of_processes


def test_a_running_service_shows_the_series_of_the_list_and_no_others(service: RunningService) -> None:
    gate = Gate(service)
    gate.check()
    gate.check("POST", "/login", X_AgentGate_Token="nonsense")
    service.operator.get("/readyz")
    text = service.operator.get("/metrics").text

    families = {family.name: family for family in text_string_to_metric_families(text)}

    assert families.keys() <= BY_NAME.keys()
    events_only = {"agentgate_agent_decisions", "agentgate_tokens", "agentgate_siteverify"}
    rare = {*events_only, "agentgate_webhook_deliveries", "agentgate_job_runs", "agentgate_job_seconds"}
    rare |= {"agentgate_job_last_done_timestamp_seconds", "agentgate_decisions", "agentgate_decision_duration_seconds"}
    rare |= {"agentgate_events_spooled", "agentgate_events_spool_bytes"}
    rare |= {"agentgate_model_drift", "agentgate_model_scores", "agentgate_network_list_refreshes"}
    assert BY_NAME.keys() - families.keys() <= rare
    for name, family in families.items():
        series = BY_NAME[name]
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        assert labels == set(series.labels), name
        assert family.type == series.kind.value
        assert family.documentation == series.meaning
    promtool("check", "metrics", stdin=text.encode())


def test_metrics_that_are_not_of_processes_have_a_rule_to_merge_them() -> None:
    assert {each.merge for each in SERIES if each.kind is not SeriesKind.GAUGE} == {Merge.SUM, Merge.EACH}
    assert {each.name for each in SERIES if each.merge is Merge.EACH} == {
        name for name in BY_NAME if name.startswith("process_")
    }


# For each alert: series that make it fire, the time until it fires, and its labels in addition to the severity.
_ONE = {"instance": "a:1"}
FIRING: dict[str, tuple[list[tuple[str, str]], str, dict[str, str]]] = {
    "AgentGateDown": ([('up{job="agentgate",instance="a:1"}', "0x300")], "10m", {**_ONE, "job": "agentgate"}),
    "AgentGateChecksFailFast": (
        [
            ('agentgate_decisions_total{kind="request",reason="allowed"}', "0+900x300"),
            ('agentgate_decisions_total{kind="request",reason="service_unavailable"}', "0+100x300"),
        ],
        "1h",
        {},
    ),
    "AgentGateChecksFail": (
        [
            ('agentgate_decisions_total{kind="request",reason="allowed"}', "0+9900x600"),
            ('agentgate_requests_refused_total{listener="public",reason="no_room"}', "0+100x600"),
        ],
        "1h",
        {},
    ),
    "AgentGateStoreDown": (
        [('agentgate_store_up{store="hot",instance="a:1"}', "0x300")],
        "10m",
        {**_ONE, "store": "hot"},
    ),
    "AgentGateStoreSlow": (
        [
            ('agentgate_store_duration_seconds_bucket{store="hot",le="0.5",instance="a:1"}', "0+10x300"),
            ('agentgate_store_duration_seconds_bucket{store="hot",le="1.0",instance="a:1"}', "0+100x300"),
            ('agentgate_store_duration_seconds_bucket{store="hot",le="+Inf",instance="a:1"}', "0+100x300"),
        ],
        "30m",
        {**_ONE, "store": "hot"},
    ),
    "AgentGateEventsLost": ([('agentgate_event_write_failures_total{instance="a:1"}', "0x5 1x300")], "8m", _ONE),
    "AgentGateEventsWaiting": ([('agentgate_events_waiting{instance="a:1"}', "20000x300")], "10m", _ONE),
    "AgentGateSpoolGrows": ([('agentgate_events_spool_bytes{instance="a:1"}', "200000000x300")], "15m", _ONE),
    "AgentGateNoRoom": (
        [('agentgate_requests_refused_total{listener="public",reason="no_room",instance="a:1"}', "0+600x300")],
        "30m",
        _ONE,
    ),
    "AgentGateChecksSlow": (
        [
            (f'agentgate_decision_duration_seconds_bucket{{kind="request",le="{le}",instance="a:1"}}', f"0+{step}x300")
            for le, step in (("0.005", 50), ("0.01", 100), ("+Inf", 100))
        ],
        "30m",
        {**_ONE, "kind": "request"},
    ),
    "AgentGateApiErrors": (
        [
            ('agentgate_http_requests_total{status="200",instance="a:1"}', "0+90x300"),
            ('agentgate_http_requests_total{status="500",instance="a:1"}', "0+10x300"),
        ],
        "30m",
        _ONE,
    ),
    "AgentGateNotAsked": (
        [('agentgate_decisions_total{kind="request",instance="a:1"}', "0+60x60 3600x200")],
        "1h50m",
        _ONE,
    ),
    "AgentGateWorkerMissing": ([('agentgate_workers{instance="a:1"}', "2x10 1x200")], "30m", _ONE),
    "AgentGateJobFails": (
        [('agentgate_job_runs_total{task="sweep",result="failed"}', "0+1x100")],
        "30m",
        {"task": "sweep"},
    ),
    "AgentGateDaysNotClosed": (
        [('agentgate_job_last_done_timestamp_seconds{task="close-days"}', "60x200")],
        "2h20m",
        {},
    ),
    "AgentGateWebhooksFail": (
        [
            ('agentgate_webhook_deliveries_total{type="decisions",result="failed"}', "0+9x300"),
            ('agentgate_webhook_deliveries_total{type="decisions",result="delivered"}', "0+1x300"),
        ],
        "70m",
        {"type": "decisions"},
    ),
    "AgentGateModelDrift": (
        [('agentgate_model_drift{kind="bot",site="site_shop",instance="a:1"}', "0.05x10 0.3x200")],
        "25m",
        {"kind": "bot", "site": "site_shop"},
    ),
    "AgentGateFilesRunOut": (
        [
            ('process_open_fds{worker="worker-1",instance="a:1"}', "900x300"),
            ('process_max_fds{worker="worker-1",instance="a:1"}', "1000x300"),
        ],
        "30m",
        {**_ONE, "worker": "worker-1"},
    ),
}
# A healthy service: none of the alerts.
WELL = [
    ('up{job="agentgate",instance="a:1"}', "1x600"),
    ('agentgate_decisions_total{kind="request",reason="allowed",instance="a:1"}', "0+9000x600"),
    ('agentgate_requests_refused_total{listener="public",reason="no_room",instance="a:1"}', "0x600"),
    ('agentgate_store_up{store="hot",instance="a:1"}', "1x600"),
    ('agentgate_event_write_failures_total{instance="a:1"}', "0x600"),
    ('agentgate_events_waiting{instance="a:1"}', "50x600"),
    ('agentgate_workers{instance="a:1"}', "2x600"),
    ('agentgate_http_requests_total{status="200",instance="a:1"}', "0+90x600"),
    ('agentgate_http_requests_total{status="500",instance="a:1"}', "0x600"),
    ('agentgate_job_last_done_timestamp_seconds{task="close-days"}', "0+60x600"),
    ('agentgate_job_runs_total{task="sweep",result="failed"}', "0x600"),
    # A peak of one measurement is not an alert.
    ('agentgate_model_drift{kind="bot",site="site_shop",instance="a:1"}', "0.15x110 0.3x9 0.15x400"),
]


def _text(rule: dict[str, Any], labels: dict[str, str], value: str = "") -> dict[str, str]:
    return {
        name: re.sub(
            r"\{\{ \$(labels\.)?(\w+) \}\}",
            lambda match: labels[match[2]] if match[1] else value,
            rule["annotations"][name],
        )
        for name in rule["annotations"]
    }


def test_each_alert_fires_when_it_should_and_none_does_when_all_is_healthy(tmp_path: Path) -> None:
    alerts = {rule["alert"]: rule for rule in rules() if "alert" in rule}
    assert alerts.keys() == FIRING.keys()
    tests: list[dict[str, Any]] = []
    for name, (series, after, labels) in FIRING.items():
        rule = alerts[name]
        expected = {
            "exp_labels": {"severity": rule["labels"]["severity"], **labels},
            "exp_annotations": _text(rule, labels, "20000"),
        }
        tests.append(
            {
                "interval": "1m",
                "input_series": [{"series": each, "values": values} for each, values in series],
                "alert_rule_test": [{"eval_time": after, "alertname": name, "exp_alerts": [expected]}],
            }
        )
    tests.append(
        {
            "interval": "1m",
            "input_series": [{"series": each, "values": values} for each, values in WELL],
            "alert_rule_test": [
                {"eval_time": after, "alertname": name, "exp_alerts": []} for name in alerts for after in ("30m", "2h")
            ],
        }
    )
    file = tmp_path / "alerts.test.yaml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))

    promtool("test", "rules", str(file))
