# ruff: noqa: INP001 - outside of the package, for `generate.py`
"""The page about monitoring, with tables made from the lists of metrics and alerts."""

import re

from agentgate.lib.telemetry.series import SERIES, Merge
from tools.observability import ALERTS
from tools.templates import filled

# What Prometheus fills in, as `$labels.store`.
_TEMPLATE = re.compile(r"\{\{ \$(?:labels\.)?(\w+) \}\}")


def monitoring_page(notice: str) -> str:
    """Return docs/monitoring.md."""
    rows = [
        f"| `{each.shown}` | {each.kind.value} | {', '.join(f'`{name}`' for name in each.labels)} | {each.meaning}"
        f"{' (for each worker)' if each.merge is Merge.EACH else ''} |"
        for each in SERIES
    ]
    alerts = [
        f"| `{each.name}` | {each.severity} | {each.lasting} | {_TEMPLATE.sub(_named, each.summary)}. {each.action} |"
        for each in ALERTS
    ]
    return filled("monitoring", notice=notice, series="\n".join(rows), alerts="\n".join(alerts))


def _named(match: re.Match[str]) -> str:
    return f"*{match[1]}*"
