"""task_create and task_comment: each carries a marker, so that recovery finds what was made and never makes two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from devclaw_py.app import App
from devclaw_py.errors import WrongState
from devclaw_py.model.pipeline import Role, State, StateKind
from devclaw_py.operations.creation_steps import COMMENT, CREATE
from devclaw_py.operations.recovery import project_held
from devclaw_py.operations.runner import perform
from devclaw_py.operations.steps import Call, begun
from devclaw_py.rules import workflow
from devclaw_py.rules.comments import attributed


def create_issue(
    app: App,
    call: Call,
    *,
    group_id: str,
    title: str,
    body: str,
    state: State,
    assignees: Sequence[str] = (),
    picks_up: bool = False,
) -> dict[str, Any]:
    """Create one issue in ``state``; Done creates and closes. With ``picks_up`` a dev pickup follows it.

    Raises:
        WrongState: only a pickup enters the state, or none could follow from it.
    """
    _check_state(state, picks_up=picks_up)
    with project_held(app, group_id, call) as project:
        intent = begun(
            app,
            call,
            CREATE,
            group_id,
            {
                "project": project.name,
                "title": title,
                "body": body,
                "assignees": list(assignees),
                "picksUp": picks_up,
            },
            target=state,
        )
        return perform(app, CREATE, intent)


def _check_state(state: State, *, picks_up: bool) -> None:
    if workflow.KIND[state] is StateKind.ACTIVE:
        raise WrongState(f"an issue cannot be created in {state}: only a pickup enters it", hint="use pickup: true")
    if picks_up and state not in workflow.queues_of(Role.DEV):
        raise WrongState(
            f"pickup needs a state that dev picks up from, not {state}", hint="leave label out, or use To Do"
        )


def add_comment(
    app: App, call: Call, *, group_id: str, issue: int, body: str, author: str | None = None
) -> dict[str, Any]:
    """Add one comment, attributed to ``author`` (dev, qa, orchestrator) if given."""
    with project_held(app, group_id, call) as project:
        task = app.open_tracker(project).get(issue)
        intent = begun(
            app,
            call,
            COMMENT,
            group_id,
            {
                "project": project.name,
                "title": task.title,
                "url": task.url,
                "body": body,
                "text": attributed(body, author),
                "author": author,
            },
            issue=issue,
        )
        return perform(app, COMMENT, intent)
