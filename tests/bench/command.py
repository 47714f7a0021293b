"""``devclaw call`` as a whole process, and what it imports."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.bench.measure import Goal, Row, Scale, ms_of
from tests.bench.office import bytecode, python

CALL = ("-m", "devclaw_py", "call", "queue_status", "--workspace")


def rows(scale: Scale) -> list[Row]:
    """Measure whole processes in pairs."""
    row = Row(
        "call_queue_status",
        "`devclaw call queue_status` as a whole process, less `python -c pass` right before it",
        Goal(250, on="p50"),
    )
    whole, bare, values = [], [], []
    pydantic = []
    with bytecode() as env, tempfile.TemporaryDirectory(prefix="devclaw-bench-") as folder:
        cwd = Path(folder)
        python(*CALL, folder, env=env, cwd=cwd)  # compiles
        for _ in range(scale.processes):
            bare.append(ms_of(lambda: python("-c", "pass", env=env, cwd=cwd)))
            whole.append(ms_of(lambda: python(*CALL, folder, env=env, cwd=cwd)))
            pydantic.append(ms_of(lambda: python("-c", "import pydantic.main", env=env, cwd=cwd)))
            values.append(whole[-1] - bare[-1])
    row.values = values
    row.compared = {
        "the whole process": whole,
        "`python -c pass`": bare,
        "`python -c 'import pydantic.main'`": pydantic,
    }
    return [row]
