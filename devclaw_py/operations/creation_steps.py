"""The rows of task_create and task_comment."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from devclaw_py.app import App
from devclaw_py.chat.text import plain
from devclaw_py.errors import UnknownTask
from devclaw_py.model.journal import Closing, Intent, Wish
from devclaw_py.model.pipeline import Provider, Role, State
from devclaw_py.model.task import TaskRef
from devclaw_py.operations.shared import project_of, ref_of, tracker_of
from devclaw_py.operations.steps import Operation, Step, interrupted, never, telling
from devclaw_py.rules import announce
from devclaw_py.rules.comments import marker

PREVIEW_CHARS = 100

# How many of the newest issues are searched for a marker: more than are made by others in the seconds after a crash.
RECENT = 100

LAG_S = 5

Look = Callable[[App, Intent], Intent | None]


def _create(app: App, intent: Intent) -> Intent:
    facts = intent.payload
    task = tracker_of(app, intent).create(
        facts["title"],
        f"{facts['body']}\n\n{marker(intent.op)}".lstrip("\n"),
        labels=[str(intent.target)],
        assignees=facts["assignees"],
    )
    return intent.knowing(created=task.ref.model_dump(mode="json"))


def _created(app: App, intent: Intent) -> Intent | None:
    return _looked_twice(app, intent, _created_now)


def _created_now(app: App, intent: Intent) -> Intent | None:
    for task in tracker_of(app, intent).list_all(newest=RECENT):
        if marker(intent.op) in task.body:
            return intent.knowing(created=task.ref.model_dump(mode="json"))
    return None


def _looked_twice(app: App, intent: Intent, look: Look) -> Intent | None:
    """Look for what was made; a forge's lists may be some seconds behind what it was asked to do."""
    found = look(app, intent)
    if found is None and project_of(app, intent).provider is not Provider.LOCAL:
        app.clock.sleep(LAG_S)
        found = look(app, intent)
    return found


def _close(app: App, intent: Intent) -> Intent:
    if intent.target is State.DONE:
        with suppress(UnknownTask):  # it was made and somebody has deleted it: there is nothing left to close
            tracker_of(app, intent).close(_ref(intent).number)
    return intent


def _ref(intent: Intent) -> TaskRef:
    return TaskRef.model_validate(intent.payload["created"])


def _create_committed(app: App, intent: Intent) -> bool:
    return intent.phase >= 2 or (not intent.undoing and _created(app, intent) is not None)


def _create_finish(app: App, intent: Intent) -> Closing:
    task, project, now = _ref(intent), project_of(app, intent), app.clock.now()
    facts, state = intent.payload, State(str(intent.target))
    told = announce.created(task, state)
    wish = Wish(group_id=intent.group_id, issue=task.number, role=Role.DEV, cause="create", at=now)
    answer: dict[str, Any] = {
        "success": True,
        "project": project.name,
        "groupId": intent.group_id,
        "issue": {
            "id": task.number,
            "title": task.title,
            "body": facts["body"] or None,
            "url": task.url,
            "label": state.value,
        },
        "issueId": task.number,
        "provider": project.provider.value,
        "announcement": plain(told),
    }
    return Closing(
        facts={"issueId": task.number, "title": task.title, "label": state, "provider": project.provider},
        outbox=(telling(app, intent, "created", told),),
        wish=wish if facts["picksUp"] else None,
        answer=answer,
    )


def _comment(app: App, intent: Intent) -> Intent:
    comment = tracker_of(app, intent).comment(ref_of(intent).number, f"{intent.payload['text']}\n\n{marker(intent.op)}")
    return intent.knowing(commentId=comment.id)


def _commented(app: App, intent: Intent) -> Intent | None:
    return _looked_twice(app, intent, _commented_now)


def _commented_now(app: App, intent: Intent) -> Intent | None:
    with suppress(UnknownTask):  # with the issue the comment is gone
        for comment in tracker_of(app, intent).comments(ref_of(intent).number):
            if marker(intent.op) in comment.body:
                return intent.knowing(commentId=comment.id)
    return None


def _comment_committed(app: App, intent: Intent) -> bool:
    return intent.phase >= 2 or (not intent.undoing and _commented(app, intent) is not None)


def _comment_finish(app: App, intent: Intent) -> Closing:
    task, project, facts = ref_of(intent), project_of(app, intent), intent.payload
    told = announce.commented(task, facts["author"])
    return Closing(
        facts={
            "authorRole": facts["author"],
            "bodyPreview": facts["body"][:PREVIEW_CHARS],
            "provider": project.provider,
        },
        answer={
            "success": True,
            "project": project.name,
            "groupId": intent.group_id,
            "issueId": task.number,
            "issueTitle": task.title,
            "issueUrl": task.url,
            "commentAdded": True,
            "authorRole": facts["author"],
            "bodyLength": len(facts["body"]),
            "provider": project.provider.value,
            "announcement": plain(told),
        },
    )


CREATE = Operation(
    kind="create",
    first="intent",
    steps=(Step(2, "issue", _create, _created), Step(3, "state", _close, never)),
    committed=_create_committed,
    finish=_create_finish,
    undone=interrupted,  # nothing was made, and recovery never makes it again
)

COMMENT = Operation(
    kind="comment",
    first="intent",
    steps=(Step(2, "comment", _comment, _commented),),
    committed=_comment_committed,
    finish=_comment_finish,
    undone=interrupted,  # nothing was made, and recovery never makes it again
)
