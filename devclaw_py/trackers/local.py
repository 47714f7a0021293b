"""The embedded issue tracker: a folder of Markdown files that people edit and devclaw moves.

`local_format` has the form of an issue, `local_log` that of its history, `local_folder` how both stay whole.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from devclaw_py.errors import Broken, TrackerError, UnknownTask
from devclaw_py.kernel.clock import Clock
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.task import Comment, LabelEvent, Task
from devclaw_py.rules.labels import carries, distinct, same, without
from devclaw_py.trackers import local_files as files
from devclaw_py.trackers.local_folder import Change, IssueFolder
from devclaw_py.trackers.local_format import IssueFile, Unreadable
from devclaw_py.trackers.local_log import HUMAN, Entry
from devclaw_py.trackers.text import one_line, well_formed

FINDING = "tracker_local"


class LocalTracker:
    """An `IssueProvider` over ``folder``; ``name`` is the project's, ``actor`` stands in the history for devclaw.

    Besides what the port says, a method raises `ConfigError` when the folder cannot be written. An issue whose file
    cannot be understood is an `Unreadable` when it is asked for, is left out of lists, and is named by `diagnose`.
    """

    def __init__(self, folder: Path, *, name: str, clock: Clock, timeout_s: float, actor: str = "devclaw") -> None:
        self._name, self._clock, self._actor = name, clock, actor
        self._issues = IssueFolder(folder, where=self.where(), clock=clock, timeout_s=timeout_s, actor=actor)

    @property
    def swaps(self) -> bool:
        """False: a move is two changes of the file, of which the first says who was first."""
        return False

    def where(self) -> str:
        """Return the tracker's name for messages."""
        return f"the local tracker of {self._name}"

    def get(self, number: int) -> Task:
        """Return one issue."""
        return self._issues.issue(number).task

    def list_by_label(self, label: str) -> list[Task]:
        """Return all open issues that carry ``label``, lowest number first."""
        return [
            task for task in self._readable(self._issues.numbers()) if not task.closed and carries(task.labels, label)
        ]

    def pulse(self) -> str | None:
        """Return the names, sizes and times of the files: also an editor's save changes one of them."""
        return self._issues.pulse()

    def list_all(self, *, newest: int | None = None) -> list[Task]:
        """Return issues, lowest number first; only the ``newest`` highest numbers when given."""
        numbers = self._issues.numbers()
        return list(self._readable(numbers if newest is None else numbers[max(0, len(numbers) - newest) :]))

    def create(self, title: str, body: str, *, labels: Sequence[str], assignees: Sequence[str] = ()) -> Task:
        """Create an open issue; the folder is made when there is none."""
        now = self._clock.now()
        draft = Task(
            number=0,
            title=one_line(title),
            body=well_formed(body),
            labels=distinct(filter(None, map(one_line, labels))),
            assignees=distinct(filter(None, map(one_line, assignees))),
            created=now,
            updated=now,
        )
        return self._issues.create(draft)

    def take(self, number: int, label: str) -> frozenset[str] | None:
        """Take one label off; None when it was not there."""

        def less(file: IssueFile) -> Change | None:
            if not carries(file.labels, label):
                return None
            return Change("label", without(file.labels, label), file.task.closed, label=label, added=False)

        _, change = self._issues.change(number, less)
        return None if change is None else frozenset(change.labels)

    def put(self, number: int, label: str) -> frozenset[str]:
        """Add one label, keep the others, and return the full set afterwards."""
        label = one_line(label)

        def more(file: IssueFile) -> Change | None:
            if carries(file.labels, label):
                return None
            return Change("label", (*file.labels, label), file.task.closed, label=label, added=True)

        file, change = self._issues.change(number, more)
        return frozenset(file.labels if change is None else change.labels)

    def swap(self, number: int, source: str, target: str) -> frozenset[str]:
        """Take one label off and add another: two changes here."""
        self.take(number, source)
        return self.put(number, target)

    def comment(self, number: int, body: str) -> Comment:
        """Add a comment."""
        comment = Comment(id=uuid.uuid4().hex, author=self._actor, body=well_formed(body), at=self._clock.now())
        line = Entry(event="comment", id=comment.id, author=comment.author, body=comment.body, at=comment.at)
        self._issues.add(number, line)
        return comment

    def comments(self, number: int) -> list[Comment]:
        """Return all comments, oldest first."""
        with suppress(Unreadable):  # the comments of an issue can be read when its file cannot
            self._issues.issue(number)
        return [
            Comment(id=entry.id or str(count), author=entry.author or HUMAN, body=entry.body or "", at=entry.at)
            for count, entry in enumerate(self._issues.log(number).entries)
            if entry.event == "comment"
        ]

    def close(self, number: int) -> None:
        """Close an issue."""
        self._issues.change(number, _turned("closed", closed=True))

    def reopen(self, number: int) -> None:
        """Open an issue."""
        self._issues.change(number, _turned("reopened", closed=False))

    def ensure_labels(self, colours: Mapping[str, str]) -> None:
        """Make the folder; a label needs nothing else to be used here."""
        files.make_folder(self._issues.folder)

    def last_event(self, number: int, label: str) -> LabelEvent | None:
        """Return the newest event of ``label``, or None."""
        return next((event for event in reversed(self.label_events(number)) if same(event.label, label)), None)

    def label_events(self, number: int) -> list[LabelEvent]:
        """Return all label events, oldest first, a human's edits included."""
        return [
            LabelEvent(
                label=entry.label,
                added=bool(entry.added),
                actor=entry.actor or HUMAN,
                ours=entry.actor == self._actor,
                at=entry.at,
            )
            for entry in self._issues.history(number)
            if entry.event == "label" and entry.label is not None
        ]

    def diagnose(self) -> list[Finding]:
        """Return the files that cannot be used, or one line that all is well."""
        try:
            names = self._issues.names()
            numbers = self._issues.numbers()
        except (TrackerError, Broken) as error:
            return [self._finding(str(error), error.hint or "", severity=Severity.CRITICAL)]
        found = [finding for number in numbers for finding in self._ailments(number)]
        for name in sorted(filter(files.MISNAMED.fullmatch, names)):
            if not files.ISSUE.fullmatch(name):
                found.append(self._finding(f"{name} is not named as an issue is", "rename it to <number>.md"))
        good = f"{self.where()}: {len(numbers)} issues in {self._issues.folder}"
        return found or [self._finding(good, "", severity=Severity.OK)]

    def _readable(self, numbers: Sequence[int]) -> Iterator[Task]:
        for number in numbers:
            # Deleted since the folder was listed, or unreadable and named by diagnose.
            with suppress(UnknownTask, Unreadable):
                yield self._issues.issue(number).task

    def _ailments(self, number: int) -> Iterator[Finding]:
        try:
            self._issues.issue(number)
            bad = self._issues.log(number).bad_lines
        except UnknownTask:
            return
        except Unreadable as error:
            yield self._finding(str(error), error.hint or "", severity=Severity.CRITICAL, issue_id=number)
            return
        if bad:
            lines = ", ".join(map(str, bad))
            message = f"{self._issues.log_path(number)}: line {lines} cannot be read and is passed over"
            yield self._finding(message, "mend or remove the line", issue_id=number)

    def _finding(
        self, message: str, mend: str, *, severity: Severity = Severity.WARNING, issue_id: int | None = None
    ) -> Finding:
        return Finding(
            type=FINDING, severity=severity, message=message, mend=mend, project=self._name, issue_id=issue_id
        )


def _turned(event: str, *, closed: bool) -> Callable[[IssueFile], Change | None]:
    def turned(file: IssueFile) -> Change | None:
        return None if file.task.closed is closed else Change(event, file.labels, closed)

    return turned
