"""One night from its first moment to its report."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path

from devclaw_py.night.simulation.report import Report, report_of
from devclaw_py.night.simulation.script import Script
from devclaw_py.night.simulation.trouble import Trouble
from devclaw_py.night.simulation.world import World

# What waits is tried again within ten minutes: after these everything has to be settled.
DAWN = timedelta(minutes=30)


def simulate(script: Script) -> Report:
    """Play the night; afterwards nothing is left of it but the report.

    Raises:
        ConfigError: the settings in it are none of devclaw.toml's.
    """
    with tempfile.TemporaryDirectory(prefix="devclaw-night-", ignore_cleanup_errors=True) as folder:
        world = World(script, Path(folder).resolve())
        trouble = Trouble(world)
        trouble.plan()
        world.clock.run_until(script.ends())
        report = report_of(world)
        trouble.over()
        world.clock.run_until(script.ends() + DAWN)
        world.watch.dawn()
        return report.model_copy(update={"broken": tuple(world.ledger.broken)})
