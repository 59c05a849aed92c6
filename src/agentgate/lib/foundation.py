"""What every subsystem is wired with."""

from dataclasses import dataclass

from agentgate.lib.clock import Clock
from agentgate.lib.keyring import Keyring, Sealer
from agentgate.lib.limiter import Limiter
from agentgate.lib.settings.schema import Settings
from agentgate.lib.tasks.background import BackgroundTasks
from agentgate.lib.telemetry.metrics import MetricRegistry


@dataclass(frozen=True, kw_only=True)
class Foundation:
    """Settings, time, keys, limits, background tasks and metrics of one worker."""

    settings: Settings
    clock: Clock
    keyring: Keyring
    sealer: Sealer
    limiter: Limiter
    background: BackgroundTasks
    metrics: MetricRegistry
