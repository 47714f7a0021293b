"""What the rows of task_complete read out of a report's intent, and how a pass becomes something else."""

from __future__ import annotations

from collections.abc import Sequence

from devclaw_py.app import App
from devclaw_py.model.journal import Intent
from devclaw_py.model.pipeline import Result, Role
from devclaw_py.operations.shared import project_of, source_of
from devclaw_py.rules import workflow


def result_of(intent: Intent) -> Result:
    """Return the result that counts: a pass that cannot be merged has become a fail."""
    return Result(intent.payload["result"])


def is_conflict(intent: Intent) -> bool:
    """Say whether somebody else's move has beaten the report."""
    return "movedTo" in intent.payload


def branch_of(app: App, intent: Intent) -> str:
    """Return the branch of the task."""
    issue, _ = source_of(intent)
    return app.work.branch(project_of(app, intent), issue, intent.payload["title"])


def turned(intent: Intent, result: Result, reason: str, paths: Sequence[str] = ()) -> Intent:
    """Turn a pass whose commit cannot be merged into another result, with what people and dev have to know."""
    known = intent.knowing(
        result=result.value, requested=Result.PASS.value, reason=reason, paths=list(paths), plan=None, merge=None
    )
    return known.model_copy(update={"target": workflow.completion_target(Role.QA, result)})


def warned(intent: Intent, *warnings: str) -> Intent:
    """Return the intent with further warnings, each once."""
    known = intent.payload.get("warnings", [])
    return intent.knowing(warnings=list(dict.fromkeys([*known, *filter(None, warnings)])))
