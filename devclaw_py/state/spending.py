"""The journal's table of what attempts used."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from devclaw_py.kernel.clock import timestamp
from devclaw_py.model.journal import AttemptChange
from devclaw_py.model.pipeline import Tier
from devclaw_py.model.usage import Spending, TaskUsage, Tokens

SUMS = f"""
SELECT count(*), {", ".join(f"ifnull(sum({name}), 0)" for name in Tokens.model_fields)}, ifnull(sum(cost_usd), 0.0),
    count(*) - count(output), count(*) - count(cost_usd)
FROM usage WHERE ended >= ?2 AND ended < ?3 AND (?1 IS NULL OR group_id = ?1) AND (?4 IS NULL OR issue = ?4)
    AND (?5 IS NULL OR ?5 = (
        SELECT json_extract(body, '$.tier') FROM attempt
        WHERE attempt.group_id = usage.group_id AND attempt.issue = usage.issue AND attempt.number = usage.number))
"""


def put(connection: sqlite3.Connection, change: AttemptChange, usage: TaskUsage, ended: datetime) -> None:
    """Keep what an attempt used that ended now; the same attempt is kept once."""
    tokens = usage.total.model_dump() if usage.total else {}
    connection.execute(
        "INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(change.group_id, change.issue, change.number, timestamp(ended)),
            *(tokens.get(name) for name in Tokens.model_fields),
            usage.cost_usd,
        ),
    )


def between(
    connection: sqlite3.Connection,
    group_id: str | None,
    since: datetime,
    until: datetime,
    *,
    issue: int | None,
    tier: Tier | None,
) -> Spending:
    """Add up what the attempts used that ended from ``since`` on and before ``until``."""
    row = connection.execute(SUMS, (group_id, timestamp(since), timestamp(until), issue, tier)).fetchone()
    attempts, *tokens, cost, uncounted, unpriced = row
    return Spending(
        attempts=attempts,
        tokens=Tokens(**dict(zip(Tokens.model_fields, tokens, strict=True))),
        cost_usd=cost,
        uncounted=uncounted,
        unpriced=unpriced,
    )
