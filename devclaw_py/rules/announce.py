"""What a group is told about each outcome: one line that a person enjoys, with number, title and link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from devclaw_py.model.announcement import Announcement
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.pipeline import Integration, Result, Role, SessionAction, State, Tier
from devclaw_py.model.question import Decision, Part, Question
from devclaw_py.model.task import TaskRef

SUMMARY_CHARS = 300
ASKED_CHARS = 600
ASKED_LINES = 40

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


def pass_became_fail(task: TaskRef, summary: str, reason: str) -> Announcement:
    """Tell that QA passed a task whose work cannot be merged, so it goes back."""
    text = f"QA passed {_said(task, summary)} The work cannot be merged: {_sentence(reason)} Sent back to DEV."
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


def asks(question: Question, where: str, *, now: datetime) -> Announcement:
    """Tell what a worker asks, what can be answered, how, and until when."""
    minutes = max(1, round((question.expires - now).total_seconds() / 60))
    parts = question.asked.parts
    lines = [line for number, part in enumerate(parts, 1) for line in _part(part, number if len(parts) > 1 else None)]
    how = "--answer ..." if len(parts) == 1 else " ".join("--answers ..." for _ in parts)
    how = f"Answer within {minutes} min: devclaw session-answer --question-id {question.id} {how}"
    text = f"{where} asks [{question.id}]: {_cut(parts[0].text) if len(parts) == 1 else f'{len(parts)} questions'}"
    return Announcement(emoji="❓", text=text, notes=(*lines[:ASKED_LINES], how))


def answered(question_id: str, session: str, said: str) -> Announcement:
    """Tell that a worker has its answer."""
    return Announcement(emoji="💬", text=f"Answered {session} [{question_id}]: {_brief(said)}")


def unanswered(question_id: str, decision: Decision) -> Announcement:
    """Tell that a question ended without an answer."""
    text = f"{decision.session} [{question_id}] “{_brief(decision.brief)}”: {_sentence(decision.said)}"
    return Announcement(emoji="⌛", text=text)


def stuck(session: str, detail: str, screen: str, attach: str) -> Announcement:
    """Tell that a session asks a person something in its terminal, which nobody answers unseen."""
    text = f"{session} needs a person at its terminal: {_sentence(detail)}"
    return Announcement(
        emoji="🖐️", text=text, notes=(f"Its screen: {screen[-ASKED_CHARS:]}", f"Answer it with: {attach}")
    )


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


def _part(part: Part, number: int | None) -> Iterator[str]:
    several = " (several can be chosen: 1,2)" if part.several else ""
    if number is not None:
        yield f"{number}) {_cut(part.text)}{several}"
    elif several:
        yield several.strip()
    for place, option in enumerate(part.options, 1):
        yield f"{place}. {_brief(option.label)}{f' — {_brief(option.about)}' if option.about else ''}"
    if part.free:
        yield "or words of your own"


def _cut(text: str) -> str:
    """Return the text, and say so where it is cut: a command's end may be what matters."""
    line = " ".join(text.split())
    if len(line) <= ASKED_CHARS:
        return line
    return f"{line[:ASKED_CHARS]} … ({len(line) - ASKED_CHARS} more characters: devclaw attach shows them)"


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
