"""session_answer, and what a group is told of its workers' questions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from devclaw_py.agents.asking import Stuck
from devclaw_py.app import App
from devclaw_py.chat.text import plain
from devclaw_py.errors import Conflict, InvalidArguments, NotActive, SessionError
from devclaw_py.kernel.clock import timestamp
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.journal import AuditLine, OutboxRow
from devclaw_py.model.project import Project
from devclaw_py.model.question import Decision, Question, QuestionEnd
from devclaw_py.operations.steps import Call
from devclaw_py.operations.wishes import new_op
from devclaw_py.rules import announce_questions as announce
from devclaw_py.rules.answering import check_message, resolved
from devclaw_py.rules.cleaning import one_line

SHOWN_CHARS = 100
TEXT_CHARS = 4000


def answer(
    app: App, call: Call, *, group_id: str | None, question_id: str, answers: Sequence[str], message: str
) -> dict[str, Any]:
    """Answer a worker's question, once; ``group_id`` None means that the question may be of any project.

    Raises:
        InvalidArguments: there is no such question, or it is not answered by this; the open ones, or what can be
            answered, are named.
        Conflict: somebody has answered it otherwise.
        NotActive: nobody waits for the answer any more.
        SessionFailed: the answer could not be written.
    """
    if not answers:
        raise InvalidArguments("an answer is needed", hint="answer is for a question of one part, answers for several")
    question, over = _find(app, group_id, question_id)
    # What was decided is said whatever the new answer is worth.
    if question is not None and over is None:
        check_message(question.asked, said := resolved(question.asked, answers), message)
        # The call's own time: by it the door finds the line that recovery may have written for it meanwhile.
        who = str(call.caller)
        wanted = question.ends(QuestionEnd.ANSWERED, call.at, op=call.op, caller=who, answers=said, message=message)
        over = app.sessions.decide(question, wanted)
    assert over is not None
    repeated = over.op != call.op
    if repeated and not _same(question, over, answers):
        raise _too_late(question_id, over)
    return _answer(app, question_id, over, repeated=repeated)


def ask_on(app: App, group_id: str) -> list[dict[str, Any]]:
    """Tell the group what its workers ask, each question once, and what ended without an answer."""
    return [
        told for question in app.sessions.questions() if question.group_id == group_id for told in _on(app, question)
    ]


def groups_asking(app: App) -> set[str]:
    """Return the groups whose workers have questions that are not settled."""
    return {question.group_id for question in app.sessions.questions()}


def open_questions(app: App, project: Project) -> list[dict[str, Any]]:
    """Return the questions of a project that wait for an answer, with their options."""
    asked = [each for each in app.sessions.open_questions() if each.group_id == project.group_id]
    return [_shown(project, question) for question in asked]


def tell_stuck(app: App) -> None:
    """Tell each group once which session asks a person something in its terminal; it is never answered here."""
    with suppress(SessionError):
        for stuck in app.sessions.stuck():
            _tell_stuck(app, stuck)


def _on(app: App, question: Question) -> list[dict[str, Any]]:
    # A session whose files cannot be used keeps its question for the next pass.
    with suppress(SessionError):
        over = app.sessions.outcome(question)
        if over is not None:
            return _end(app, question, over)
        if not app.sessions.told(question):
            return _announce(app, question)
    return []


def _announce(app: App, question: Question) -> list[dict[str, Any]]:
    """Queue the announcement under the question's id: who is killed before the note is made queues nothing twice."""
    project = app.store.registry.all().get(question.group_id)
    issue = _issue(project, question.session)
    where = f"{question.session} on #{issue}" if issue else question.session
    told = announce.asks(question, where, now=app.clock.now())
    app.store.journal.queue(_row(app, f"question:{question.id}", question.group_id, told))
    facts = {"ok": True, "questionId": question.id, "kind": question.asked.kind.value, "tool": question.asked.tool}
    facts |= {"session": question.session, "textPreview": one_line(question.brief, limit=SHOWN_CHARS)}
    asker = f"worker:{question.session}"
    _line(app, question, "session_question", f"question-{question.id}", asker, facts, question.at)
    app.sessions.set_told(question)
    return [{"session": question.session, "id": question.id, "what": f"asks: {question.brief}"}]


def _end(app: App, question: Question, over: Decision) -> list[dict[str, Any]]:
    """Settle a decided question; a call that was killed before it wrote its line gets it here."""
    if over.end is QuestionEnd.ANSWERED:
        facts = {"ok": True, "questionId": question.id, "session": over.session, "answers": _brief(over.answers)}
        _line(app, question, "session_answer", over.op, over.caller, facts, over.at)
    else:
        row = _row(app, f"question:{question.id}:end", question.group_id, announce.unanswered(question.id, over))
        app.store.journal.queue(row)
        facts = {"ok": False, "questionId": question.id, "session": over.session, "reason": over.end.value}
        _line(app, question, "session_question_ended", f"question-{question.id}", "recovery", facts, over.at)
    app.sessions.settle(question)
    return [{"session": question.session, "id": question.id, "what": f"is {over.end.value}: {question.brief}"}]


def _tell_stuck(app: App, stuck: Stuck) -> None:
    place = stuck.place
    told = announce.stuck(place.session, stuck.detail, stuck.screen, place.attach)
    key = f"stuck:{hashlib.sha256(stuck.key.encode(errors='replace')).hexdigest()[:16]}"
    app.store.journal.queue(_row(app, key, place.group_id, told))
    if not app.store.journal.first_seen(place.session, key):
        return
    line = AuditLine(
        ts=app.clock.now(),
        event="session_stuck",
        op=new_op(),
        caller="heartbeat",
        project=place.project,
        group_id=place.group_id,
        facts={"ok": False, "session": place.session, "textPreview": one_line(stuck.detail, limit=SHOWN_CHARS)},
    )
    app.store.audit.append(line)


def _find(app: App, group_id: str | None, question_id: str) -> tuple[Question | None, Decision | None]:
    """Return the question, unless it is settled, and what became of it; another group's is unknown to the caller."""
    known = [each for each in app.sessions.questions() if group_id in (None, each.group_id)]
    for question in known:
        if question.id == question_id:
            return question, app.sessions.outcome(question)
    over = app.sessions.decision(question_id)
    if over is not None and group_id in (None, over.group_id):
        return None, over
    waiting = [f"{each.id} ({each.session}: {each.brief})" for each in known if app.sessions.waits(each)]
    raise InvalidArguments(
        f"there is no question {question_id[:SHOWN_CHARS]!r}; open: {'; '.join(waiting) or 'none'}",
        hint="queue_status lists the open questions",
    )


def _too_late(question_id: str, over: Decision) -> Conflict | NotActive:
    what = f"the question {question_id} of {over.session} is over since {timestamp(over.at)}: {over.said}"
    if over.end is QuestionEnd.ANSWERED:
        return Conflict(what, hint="session_send tells the worker something else")
    return NotActive(what, hint="session_send tells the worker what you wanted to say")


def _same(question: Question | None, over: Decision, answers: Sequence[str]) -> bool:
    """Say whether the same was answered before; of a settled question the options are no longer known."""
    if over.end is not QuestionEnd.ANSWERED:
        return False
    with suppress(InvalidArguments):
        given = resolved(question.asked, answers) if question is not None else tuple(text.strip() for text in answers)
        return given == over.answers
    return False


def _answer(app: App, question_id: str, over: Decision, *, repeated: bool) -> dict[str, Any]:
    project = app.store.registry.all().get(over.group_id)
    said = announce.answered(question_id, over.session, " / ".join(over.answers))
    found: dict[str, Any] = {
        "success": True,
        "project": project.name if project else None,
        "groupId": over.group_id,
        "issueId": _issue(project, over.session),
        "session": over.session,
        "questionId": question_id,
        "answers": _brief(over.answers),
        "announcement": plain(said),
    }
    return found | {"repeated": True} if repeated else found


def _shown(project: Project, question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "session": question.session,
        "issueId": _issue(project, question.session),
        "kind": question.asked.kind.value,
        "tool": question.asked.tool,
        "brief": question.brief,
        "parts": [
            {
                "text": part.text[:TEXT_CHARS],
                "options": [option.label for option in part.options],
                "several": part.several,
                "free": part.free,
            }
            for part in question.asked.parts
        ],
        "at": timestamp(question.at),
        "expires": timestamp(question.expires),
    }


def _issue(project: Project | None, session: str) -> int | None:
    """Return the task that the session holds."""
    for seat in project.seats().values() if project is not None else ():
        if seat.active and seat.tier is not None and seat.session(seat.tier) == session:
            return seat.issue
    return None


def _brief(answers: Sequence[str]) -> list[str]:
    return [one_line(text, limit=SHOWN_CHARS) for text in answers]


def _row(app: App, key: str, group_id: str, told: Announcement) -> OutboxRow:
    return OutboxRow(key=key, group_id=group_id, announcement=told, at=app.clock.now())


def _line(app: App, question: Question, event: str, op: str, caller: str, facts: dict[str, Any], at: datetime) -> None:
    project = app.store.registry.all().get(question.group_id)
    line = AuditLine(
        ts=at,
        event=event,
        op=op,
        caller=caller,
        project=project.name if project else None,
        group_id=question.group_id,
        issue=_issue(project, question.session),
        facts=facts,
    )
    app.store.audit.append_once(line)
