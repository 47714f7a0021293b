"""What a group is told about each outcome: one line that a person enjoys, with number, title and link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from devclaw_py.model.announcement import Announcement
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.pipeline import Integration, Mode, Result, Role, SessionAction, State, Tier
from devclaw_py.model.task import TaskRef

SUMMARY_CHARS = 300

EMOJI: dict[Tier, str] = {Tier.JUNIOR: "⚡", Tier.MEDIOR: "🔧", Tier.SENIOR: "🧠", Tier.QA: "🔍"}

STARTS = {SessionAction.SPAWN: "Spawning", SessionAction.SEND: "Sending", SessionAction.RESUME: "Resuming"}

RESULTS: dict[Result, tuple[str, str, str]] = {
    Result.DONE: ("✅", "done", "Moved to QA queue."),
    Result.PASS: ("🎉", "PASS", "Issue closed."),
    Result.FAIL: ("❌", "FAIL", "Sent back to DEV."),
    Result.REFINE: ("🤔", "REFINE", "Awaiting human decision."),
    Result.BLOCKED: ("🚫", "BLOCKED", "Needs a human."),
}
MENDED: dict[bool | None, str] = {None: "⚠️", True: "🩹", False: "🛑"}
AUTHORS: dict[str, str] = {"dev": "DEV", "qa": "QA", "orchestrator": "the orchestrator"}


def picked_up(task: TaskRef, role: Role, tier: Tier, action: SessionAction) -> Announcement:
    """Tell that a worker got a task: ``🔧 Spawning DEV (medior) for #42: Title``."""
    text = f"{STARTS[action]} {role.upper()} ({tier}) for {_named(task)}"
    return Announcement(emoji=EMOJI[tier], text=text, task=task)


def completed(
    task: TaskRef, role: Role, result: Result, summary: str = "", *, merged_into: str | None = None
) -> Announcement:
    """Tell a worker's result and where the task went: ``✅ DEV done #42 — summary. Moved to QA queue.``"""
    emoji, word, then = RESULTS[result]
    if result is Result.PASS and merged_into:
        then = f"Merged into {merged_into}, issue closed."
    return Announcement(emoji=emoji, text=f"{role.upper()} {word} {_said(task, summary)} {then}", task=task)


def pass_undone(task: TaskRef, summary: str, reason: str, result: Result = Result.FAIL) -> Announcement:
    """Tell that QA passed a task whose work cannot be merged, and where it goes instead."""
    then = RESULTS[result][2]
    text = f"QA passed {_said(task, summary)} The work cannot be merged: {_sentence(reason)} {then}"
    return Announcement(emoji="🔀", text=text, task=task)


def waits(task: TaskRef, reason: str) -> Announcement:
    """Tell that an operation on a task is parked until ``reason`` is gone."""
    return Announcement(emoji="⏳", text=f"{_named(task)} waits: {_sentence(reason)}", task=task)


def merge_awaited(task: TaskRef, summary: str, base_branch: str, integration: Integration) -> Announcement:
    """Tell that an issue is closed whose tested work somebody else has yet to merge."""
    who = "a person" if integration is Integration.HUMAN else "its worker"
    text = f"QA PASS {_said(task, summary)} Issue closed; {who} has yet to merge its work into {base_branch}."
    return Announcement(emoji="🎉", text=text, task=task)


def will_not_follow(issue: int, role: Role, reason: str) -> Announcement:
    """Tell that a pickup that was to follow has been given up."""
    return Announcement(emoji="🛑", text=f"No {role.upper()} pickup of #{issue} follows: {_sentence(reason)}")


def told(session: str, text: str, *, waits: bool) -> Announcement:
    """Tell that a worker has a message, or will have it once it is idle."""
    if waits:
        return Announcement(emoji="⏳", text=f"{session} is told when it is idle: {text}")
    return Announcement(emoji="💬", text=f"Told {session}: {text}")


def not_told(session: str, text: str, reason: str) -> Announcement:
    """Tell that nobody knows whether a message that waited has arrived; it is not typed again."""
    note = "It is not sent again by itself: look with devclaw attach, then send it once more."
    return Announcement(emoji="⚠️", text=f"{session} may not have got “{text}”: {_sentence(reason)}", notes=(note,))


def created(task: TaskRef, state: State) -> Announcement:
    """Tell of a new issue; a pickup that follows at once is `chained` to it."""
    return Announcement(emoji="📋", text=f"Created {_named(task)} ({state})", task=task)


def updated(task: TaskRef, source: State | None, target: State, reason: str = "") -> Announcement:
    """Tell of a move that somebody asked for: ``🔄 Updated #42: To Do → Planning (reason)``."""
    why = f" ({_brief(reason)})" if reason.strip() else ""
    text = f"Updated #{task.number}: {source or 'no state'} → {target}{why}"
    return Announcement(emoji="🔄", text=text, task=task)


def unchanged(task: TaskRef, state: State) -> Announcement:
    """Tell that a task stood where somebody wanted to put it."""
    return Announcement(emoji="🔄", text=f"#{task.number} is in {state} already", task=task)


def commented(task: TaskRef, author: str | None) -> Announcement:
    """Tell of a comment: ``💬 Comment added to #42 by QA``."""
    by = f" by {AUTHORS.get(author, author)}" if author else ""
    return Announcement(emoji="💬", text=f"Comment added to #{task.number}{by}", task=task)


def registered(name: str, group_name: str, *, labels: int, roles_written: bool) -> Announcement:
    """Tell that a group has a team now."""
    made = f" {labels} labels created." if labels else ""
    roles = " Role files written." if roles_written else ""
    return Announcement(emoji="📋", text=f'Project "{name}" registered for {group_name}.{made}{roles} Ready for tasks.')


def project_changed(name: str, changes: Mapping[str, tuple[str, str]]) -> Announcement:
    """Tell which of a project's settings changed, each as ``key: old → new``."""
    listed = ", ".join(f"{key}: {old or 'none'} → {new or 'none'}" for key, (old, new) in changes.items())
    return Announcement(emoji="🛠️", text=f'Project "{name}": {listed or "nothing changed"}')


MODES = {
    Mode.RUNNING: ("▶️", "goes on: waiting tasks are handed out"),
    Mode.PAUSED: ("⏸️", "is paused: nothing more is handed out, what is at work goes on"),
    Mode.DRAINING: ("🪣", "drains: what was begun is brought to its end, nothing new is begun"),
    Mode.STOPPED: ("⏹️", "is stopped: its workers rest, their work is kept"),
}


def held_back(mode: Mode) -> str | None:
    """Return what holds a project's waiting tasks back; None: nothing does."""
    return None if mode is Mode.RUNNING else MODES[mode][1]


def mode_changed(name: str, mode: Mode) -> Announcement:
    """Tell what a project does from now on without being asked."""
    emoji, words = MODES[mode]
    return Announcement(emoji=emoji, text=f'Project "{name}" {words}.')


def set_up(workspace: str, *, written: Sequence[str], kept: Sequence[str] = ()) -> Announcement:
    """Tell what devclaw_setup wrote; ``kept`` are the backups of what stood there."""
    files = f": {', '.join(written)}" if written else "; every file stood already"
    notes = (f"💾 Kept what stood there: {', '.join(kept)}",) if kept else ()
    return Announcement(emoji="🧰", text=f"DevClaw is set up in {workspace}{files}", notes=notes)


def queue(
    name: str, waiting: Mapping[State, int] | None, busy: Mapping[str, int | None], trouble: Sequence[str] = ()
) -> Announcement:
    """Tell what waits and who works: ``📊 shop: 2 To Do, 1 To Test. DEV on #42, QA idle``; None: it is unknown."""
    if waiting is None:
        counts = "what waits is unknown"
    else:
        counts = ", ".join(f"{count} {state}" for state, count in waiting.items() if count) or "nothing waits"
    seats = ", ".join(f"{seat.upper()} {f'on #{issue}' if issue else 'idle'}" for seat, issue in busy.items())
    return Announcement(
        emoji="📊", text=f"{name}: {counts}. {seats}", notes=tuple(f"⚠️ {_brief(text)}" for text in trouble)
    )


def health(findings: Sequence[Finding]) -> Announcement:
    """Tell what session_health found, the gravest first, and what it mended."""
    troubles = [finding for finding in findings if finding.severity is not Severity.OK]
    if not troubles:
        return Announcement(emoji="💚", text="All healthy")
    mended = sum(finding.fixed is True for finding in troubles)
    order = [Severity.CRITICAL, Severity.UNKNOWN, Severity.WARNING]
    troubles.sort(key=lambda finding: order.index(finding.severity))
    ending = f", {mended} mended" if mended else ""
    text = f"{len(troubles)} {'finding' if len(troubles) == 1 else 'findings'}{ending}"
    return Announcement(emoji="🩺", text=text, notes=tuple(_finding(finding) for finding in troubles))


def ended(tool: str, what: str) -> Announcement:
    """Tell how a call ended that was answered before its end."""
    return Announcement(emoji="⌛", text=f"{tool} ended: {_sentence(what)}")


def recovered(task: TaskRef | None, what: str) -> Announcement:
    """Tell what recovery finished or undid after a crash."""
    where = f" #{task.number}" if task else ""
    return Announcement(emoji="🩹", text=f"Recovered{where}: {_sentence(what)}", task=task)


def conflict(task: TaskRef, role: Role, found: State | str | None) -> Announcement:
    """Tell that somebody moved a task under a worker's hands, or deleted it (``found`` None); theirs stays."""
    done = f"moved to {found} by somebody else and stays there" if found else "deleted by somebody else"
    text = f"#{task.number} was {done}. {role.upper()} stops."
    return Announcement(emoji="🤚", text=text, task=task)


def released(task: TaskRef, role: Role, reason: str) -> Announcement:
    """Tell that a worker lost its task without a report."""
    return Announcement(emoji="👋", text=f"{role.upper()} left #{task.number}: {_sentence(reason)}", task=task)


def parked(task: TaskRef, role: Role, until: datetime) -> Announcement:
    """Tell that the workers' account has reached its usage limit."""
    text = f"{role.upper()} rests on {_named(task)}: the usage limit is reached until {until:%Y-%m-%d %H:%M} UTC."
    note = "No task is given to a worker until then; it goes on by itself."
    return Announcement(emoji="⏸️", text=text, task=task, notes=(note,))


def budget_reached(name: str, words: str, *, costs: str, to_raise: str) -> Announcement:
    """Tell that a budget is used up, what going on would cost and how."""
    each = f" An attempt has cost {costs} on average." if costs else ""
    note = f"To go on: {to_raise}. A person's own task_pickup is not held back."
    return Announcement(emoji="💰", text=f"{name} waits: {_sentence(words)}{each}", notes=(note,))


def budget_rest(task: TaskRef, role: Role, words: str) -> Announcement:
    """Tell that a worker was put to rest because a budget is used up."""
    note = "It is back in its queue; its work and its conversation are kept."
    return Announcement(
        emoji="💰", text=f"{role.upper()} rests on {_named(task)}: {_sentence(words)}", task=task, notes=(note,)
    )


def stalled(task: TaskRef, role: Role, why: str) -> Announcement:
    """Tell that a turn without a sign of work was ended."""
    text = f"{role.upper()} was stuck on {_named(task)}: {_sentence(why)} It is told to go on."
    return Announcement(emoji="⏱️", text=text, task=task)


def needs_help(task: TaskRef, role: Role, why: str, where: str) -> Announcement:
    """Tell that a worker does not go on by itself; ``where`` is what ``devclaw attach`` is given."""
    text = f"{role.upper()} has not reported {_named(task)} and needs a person: {_sentence(why)}"
    note = f"Look with devclaw attach {where}; session_send tells it to go on."
    return Announcement(emoji="🆘", text=text, task=task, notes=(note,))


def _named(task: TaskRef) -> str:
    return f"#{task.number}: {' '.join(task.title.split())}"


def _said(task: TaskRef, summary: str) -> str:
    """Return number and summary; of several paragraphs the first, the rest (output, a diff) is on the issue."""
    first = summary.strip().partition("\n\n")[0]
    if not first:
        return f"#{task.number}."
    return f"#{task.number} — {_sentence(first)}"


def _finding(finding: Finding) -> str:
    where = f"{finding.project}: " if finding.project else ""
    return f"{MENDED[finding.fixed]} {where}{_brief(finding.message)}"


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SUMMARY_CHARS else line[: SUMMARY_CHARS - 1].rstrip() + "…"


def _sentence(text: str) -> str:
    line = _brief(text).rstrip(".")
    return line if line.endswith(("!", "?", "…", "。")) else f"{line}."
