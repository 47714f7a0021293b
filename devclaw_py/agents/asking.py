"""Questions of workers to people, over all sessions of a workspace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from devclaw_py.agents import mailbox, questions, tokens
from devclaw_py.agents.base import Workplace
from devclaw_py.agents.look import LookStatus
from devclaw_py.agents.turn import files_of
from devclaw_py.agents.urging import Urging
from devclaw_py.model.base import Value
from devclaw_py.model.question import Decision, Question, QuestionEnd


class Stuck(Value):
    """A session that a person must look at. ``key`` is the same as long as the same is asked."""

    place: Workplace
    key: str
    detail: str
    screen: str


class Asking(Urging):
    """`Urging`, and questions that come back."""

    def questions(self) -> list[Question]:
        """Return the questions that are not settled, decided or not, oldest first."""
        folders = sorted({path.parent.parent for path in self.root.glob(f"*/{mailbox.QUESTIONS}/[0-9a-f]*.json")})
        found = [self._question(folder, record) for folder in folders for record in questions.records(folder)]
        return sorted(filter(None, found), key=lambda question: (question.at, question.id))

    def open_questions(self) -> list[Question]:
        """Return the questions whose answer somebody waits for, oldest first."""
        return [question for question in self.questions() if self.waits(question)]

    def waits(self, question: Question) -> bool:
        """Say whether somebody waits for the answer."""
        folder = self.folder(question.session)
        record = questions.read(questions.question(folder, question.id))
        now = self._clock.now().timestamp()
        return record is not None and questions.waits(folder, record, now=now) and self.agent.still_asks(folder, record)

    def decide(self, question: Question, decision: Decision) -> Decision:
        """Decide the question unless that is done, and return the decision that stands.

        Raises:
            SessionFailed: the answer could not be written; nothing is decided.
        """
        folder = self.folder(question.session)
        with files_of(question.session):
            line = ""
            record = questions.read(questions.question(folder, question.id))
            if decision.end is QuestionEnd.ANSWERED and record is not None:
                line = self.agent.reply(
                    record["asked"], decision.answers, caller=decision.caller, message=decision.message
                )
            if questions.decide(folder, question.id, decision, line):
                return decision
        return self.decision(question.id) or decision

    def decision(self, name: str) -> Decision | None:
        """Return what became of a question by its id; None when it is undecided or was never asked."""
        if not questions.ID.fullmatch(name):
            return None
        for path in self.root.glob(f"*/{mailbox.ANSWERS}/{name}"):
            found = questions.decided(path.parent.parent, name)
            return found if isinstance(found, Decision) else self._in_vain(path.parent.parent, found)
        return None

    def outcome(self, question: Question) -> Decision | None:
        """Return what became of a question; one that nobody waits for any more is decided by that.

        Raises:
            SessionFailed: that could not be written.
        """
        found = self.decision(question.id)
        if found is not None or self.waits(question):
            return found
        now = self._clock.now()
        end = QuestionEnd.EXPIRED if now >= question.expires else QuestionEnd.WITHDRAWN
        return self.decide(question, question.ends(end, now))

    def settle(self, question: Question) -> None:
        """Forget a question that is decided and told."""
        with files_of(question.session):
            questions.settle(self.folder(question.session), question.id)

    def told(self, question: Question) -> bool:
        """Say whether people know of the question already."""
        return questions.told(self.folder(question.session), question.id)

    def set_told(self, question: Question) -> None:
        """Note that people know of the question."""
        questions.set_told(self.folder(question.session), question.id)

    def stuck(self) -> Iterator[Stuck]:
        """Yield the sessions that ask a person something in their terminal, where nobody else can answer.

        Raises:
            SessionFailed: the terminal could not be asked.
        """
        for session in self.terminal.sessions():
            look = self._look(session, session.name)
            place = tokens.place_of(self.folder(session.name))
            if look.status is LookStatus.UNKNOWN and look.detail and place is not None:
                key = f"{session.name}:{session.pid}:{look.detail[:200]}"
                yield Stuck(place=place, key=key, detail=look.detail, screen=self._last_lines(session.name))

    def _question(self, folder: Path, record: Mapping[str, Any]) -> Question | None:
        place, asked = tokens.place_of(folder), self.agent.asked(record["asked"])
        if place is None or asked is None:
            return None
        return Question(
            id=record["id"],
            session=folder.name,
            group_id=place.group_id,
            at=questions.at(record["at"]),
            expires=questions.at(record["expires"]),
            asked=asked,
        )

    def _in_vain(self, folder: Path, record: Mapping[str, Any] | None) -> Decision | None:
        question = self._question(folder, record) if record is not None else None
        if question is None:
            return None
        return question.ends(QuestionEnd.EXPIRED, question.expires)
