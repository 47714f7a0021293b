"""The rows of a project's removal: its sessions, what waits for it, its entry last."""

from __future__ import annotations

import re
from collections.abc import Iterator

from devclaw_py.app import App
from devclaw_py.errors import RepositoryError, SessionFailed
from devclaw_py.model.journal import Closing, Intent
from devclaw_py.model.pipeline import Tier
from devclaw_py.model.project import Project
from devclaw_py.operations.registration_steps import entry_of
from devclaw_py.operations.steps import Operation, Step, interrupted, never, note

TIERS = "|".join(f"{tier.role}-{tier}" for tier in Tier)


def _sessions(app: App, intent: Intent) -> Intent:
    """Stop the sessions; with ``force`` one that could not be stopped is a warning."""
    warnings, stopped = [], []
    for name in session_names(app, entry_of(intent)):
        try:
            app.sessions.stop(name)
            stopped.append(name)
        except SessionFailed as error:
            if not intent.payload["force"]:
                raise
            warnings.append(f"{name} was not stopped: {error}")
    return intent.knowing(stopped=stopped, warnings=warnings)


def session_names(app: App, project: Project) -> list[str]:
    """Return the project's sessions that were ever started, by the folders that they leave."""
    name = re.compile(rf"{re.escape(project.slug)}-(?:{TIERS})(?:-\d+)?")
    if not app.sessions.root.is_dir():
        return []
    return sorted(path.name for path in app.sessions.root.iterdir() if path.is_dir() and name.fullmatch(path.name))


def _waiting(app: App, intent: Intent) -> Intent:
    """Drop operations and wishes, and end what is open; their names are noted before they are gone."""
    journal, group_id = app.store.journal, intent.group_id
    others = [other for other in journal.intents(group_id) if other.op != intent.op]
    names = [other.named for other in others]
    names += [f"pickup of #{wish.issue} by {wish.role}" for wish in journal.wishes(group_id)]
    intent = note(app, intent.knowing(dropped=[*intent.payload.get("dropped", ()), *names]))
    for other in others:
        journal.close(other.op, Closing())
    for wish in journal.wishes(group_id):
        journal.drop_wish(wish)
    for attempt in journal.attempts(group_id):
        if attempt.ended is None:
            journal.save_attempt(attempt.model_copy(update={"ended": app.clock.now(), "reason": "removed"}))
    return intent


def _entry(app: App, intent: Intent) -> Intent:
    app.store.registry.remove(intent.group_id)
    return intent


def _removed(app: App, intent: Intent) -> Intent | None:
    return None if intent.group_id in app.store.registry.all() else intent


def _finish(app: App, intent: Intent) -> Closing:
    project, facts = entry_of(intent), intent.payload
    stays = list(_stays(app, project))
    dropped = list(dict.fromkeys(facts["dropped"]))
    lines = [f"🗑️ {project.name} of group {project.group_id} is no longer registered."]
    lines += [f"dropped: {what}" for what in dropped]
    lines += [f"⚠ {warning}" for warning in facts["warnings"]]
    lines += [f"stays: {what}" for what in stays]
    answer = {
        "success": True,
        "project": project.name,
        "groupId": project.group_id,
        "sessionsStopped": facts["stopped"],
        "dropped": dropped,
        "warnings": facts["warnings"],
        "stays": stays,
        "announcement": "\n".join(lines),
    }
    told = {"repo": project.repo, "force": facts["force"], "sessionsStopped": facts["stopped"], "dropped": dropped}
    return Closing(facts=told, answer=answer)


def _stays(app: App, project: Project) -> Iterator[str]:
    """Name what is left where people find it."""
    places = [
        ("the issues in", app.workspace / "memory" / "issues" / project.slug),
        ("the role texts in", app.workspace / "roles" / project.slug),
    ]
    try:
        repo = project.repo_path
    except RepositoryError:  # an entry that names no folder of this machine can be removed all the same
        yield f"the repository {project.repo}"
    else:
        yield f"the repository {repo} with all branches and commits"
        places.insert(0, ("the worktrees in", repo.with_name(f"{repo.name}.worktrees")))
    yield from (f"{what} {folder}" for what, folder in places if folder.exists())


REMOVE = Operation(
    kind="remove",
    first="intent",
    steps=(
        Step(2, "sessions", _sessions, never),
        Step(3, "waiting", _waiting, never),
        Step(4, "registry", _entry, _removed),
    ),
    # What waits for the project is dropped for good, so from there on it can only go.
    committed=lambda app, intent: not intent.undoing and intent.phase >= 2,
    finish=_finish,
    undone=interrupted,
)
