"""An issue tracker in memory, with hands for the human of a test, a demo or a simulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import RLock

from devclaw_py.errors import CommentRefused, UnknownTask
from devclaw_py.kernel.clock import Clock, SystemClock
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.task import Comment, LabelEvent, Task
from devclaw_py.rules.labels import carries, distinct, same, states_in, without
from devclaw_py.trackers.text import one_line, well_formed


@dataclass
class _Issue:
    task: Task
    comments: list[Comment] = field(default_factory=list)
    events: list[LabelEvent] = field(default_factory=list)
    locked: bool = False


class MemoryTracker:
    """An `IssueProvider` that forgets. Threads may share it. ``colours`` are the labels that were ensured.

    With ``swaps`` a move is one write, as on GitLab. The methods `seed`, `human_...` and `delete` are what people do in
    a tracker; the others are devclaw's.
    """

    def __init__(
        self, name: str = "memory", *, clock: Clock | None = None, actor: str = "devclaw", swaps: bool = False
    ) -> None:
        self._name, self._clock, self._actor = name, clock or SystemClock(), actor
        self._issues: dict[int, _Issue] = {}
        self._highest = 0
        self._changes = 0
        self._lock = RLock()
        self.colours: dict[str, str] = {}
        self.swaps = swaps

    def where(self) -> str:
        """Return the tracker's name for messages."""
        return f"the tracker of {self._name} in memory"

    def get(self, number: int) -> Task:
        """Return one issue."""
        with self._lock:
            return self._issue(number).task

    def list_by_label(self, label: str) -> list[Task]:
        """Return all open issues that carry ``label``, lowest number first."""
        return [task for task in self.list_all() if not task.closed and carries(task.labels, label)]

    def pulse(self) -> str | None:
        """Return how often something was changed."""
        return str(self._changes)

    def list_all(self, *, newest: int | None = None) -> list[Task]:
        """Return issues, lowest number first; only the ``newest`` highest numbers when given."""
        with self._lock:
            tasks = [self._issues[number].task for number in sorted(self._issues)]
        return tasks if newest is None else tasks[max(0, len(tasks) - newest) :]

    def create(self, title: str, body: str, *, labels: Sequence[str], assignees: Sequence[str] = ()) -> Task:
        """Create an open issue."""
        return self._create(title, body, labels=labels, assignees=assignees, actor=self._actor)

    def take(self, number: int, label: str) -> frozenset[str] | None:
        """Take one label off; None when it was not there."""
        with self._lock:
            if not carries(self._issue(number).task.labels, label):
                return None
            return self._label(number, label, added=False, actor=self._actor)

    def put(self, number: int, label: str) -> frozenset[str]:
        """Add one label, keep the others, and return the full set afterwards."""
        return self._label(number, label, added=True, actor=self._actor)

    def swap(self, number: int, source: str, target: str) -> frozenset[str]:
        """Take one label off and add another, and return the full set afterwards."""
        with self._lock:
            # The order of GitLab's history: what is added comes before what is taken off in the same write.
            self._label(number, target, added=True, actor=self._actor)
            return self._label(number, source, added=False, actor=self._actor)

    def comment(self, number: int, body: str) -> Comment:
        """Add a comment.

        Raises:
            CommentRefused: its conversation is locked.
        """
        if self._issue(number).locked:
            raise CommentRefused(f"issue #{number} in {self.where()} is locked", hint="unlock its conversation")
        return self._comment(number, body, self._actor)

    def comments(self, number: int) -> list[Comment]:
        """Return all comments, oldest first."""
        with self._lock:
            return list(self._issue(number).comments)

    def close(self, number: int) -> None:
        """Close an issue."""
        self._update(number, closed=True)

    def reopen(self, number: int) -> None:
        """Open an issue."""
        self._update(number, closed=False)

    def ensure_labels(self, colours: Mapping[str, str]) -> None:
        """Remember the labels that are missing in ``colours``."""
        with self._lock:
            for label, colour in colours.items():
                if not carries(self.colours, label):
                    self.colours[label] = colour

    def last_event(self, number: int, label: str) -> LabelEvent | None:
        """Return the newest event of ``label``, or None."""
        return next((event for event in reversed(self.label_events(number)) if same(event.label, label)), None)

    def label_events(self, number: int) -> list[LabelEvent]:
        """Return all label events, oldest first."""
        with self._lock:
            return list(self._issue(number).events)

    def diagnose(self) -> list[Finding]:
        """Return one line: nothing can be wrong here."""
        message = f"{self.where()}: {len(self.list_all())} issues"
        return [Finding(type="tracker_memory", severity=Severity.OK, message=message, project=self._name)]

    def seed(self, title: str = "An issue", body: str = "", *, labels: Sequence[str] = (), closed: bool = False) -> int:
        """Let a human create an issue; return its number."""
        number = self._create(title, body, labels=labels, assignees=(), actor="human").number
        self._update(number, closed=closed)
        return number

    def human_labels(self, number: int, labels: Iterable[str], *, actor: str = "human") -> None:
        """Let a human set the issue's labels to ``labels``."""
        wanted = tuple(labels)
        with self._lock:
            present = self._issue(number).task.labels
            for label in present:
                if not carries(wanted, label):
                    self._label(number, label, added=False, actor=actor)
            for label in wanted:
                self._label(number, label, added=True, actor=actor)

    def human_moves(self, number: int, to: str, *, actor: str = "human") -> None:
        """Let a human put ``to`` in the place of whatever state labels the issue carries."""
        with self._lock:
            labels = self._issue(number).task.labels
            self.human_labels(number, (*(label for label in labels if not states_in([label])), to), actor=actor)

    def human_comments(self, number: int, body: str, *, author: str = "human") -> None:
        """Let a human comment."""
        self._comment(number, body, author)

    def human_edits(self, number: int, *, title: str | None = None, body: str | None = None) -> None:
        """Let a person change the issue's title or description."""
        changes = {"title": title, "body": body}
        self._update(number, **{name: text for name, text in changes.items() if text is not None})

    def human_locks(self, number: int) -> None:
        """Let a human lock the issue's conversation: devclaw may move it still and comment no more."""
        with self._lock:
            self._issue(number).locked = True

    def human_closes(self, number: int) -> None:
        """Let a human close the issue."""
        self._update(number, closed=True)

    def human_reopens(self, number: int) -> None:
        """Let a human open the issue again."""
        self._update(number, closed=False)

    def delete(self, number: int) -> None:
        """Let a human delete the issue; its number does not come back."""
        with self._lock:
            self._issue(number)
            del self._issues[number]
            self._changes += 1

    def _issue(self, number: int) -> _Issue:
        try:
            return self._issues[number]
        except KeyError:
            raise UnknownTask(number, self.where()) from None

    def _create(self, title: str, body: str, *, labels: Sequence[str], assignees: Sequence[str], actor: str) -> Task:
        with self._lock:
            self._highest += 1
            number, now = self._highest, self._clock.now()
            task = Task(
                number=number,
                title=one_line(title),
                url=f"memory://{self._name}/{number}",
                body=well_formed(body),
                assignees=distinct(assignees),
                created=now,
                updated=now,
            )
            self._issues[number] = _Issue(task)
            self._changes += 1
            for label in labels:
                self._label(number, label, added=True, actor=actor)
            return self._issues[number].task

    def _label(self, number: int, label: str, *, added: bool, actor: str) -> frozenset[str]:
        label = one_line(label)
        with self._lock:
            issue = self._issue(number)
            labels = issue.task.labels
            if carries(labels, label) is not added:
                after = (*labels, label) if added else without(labels, label)
                self._update(number, labels=after)
                ours, now = actor == self._actor, self._clock.now()
                issue.events.append(LabelEvent(label=label, added=added, actor=actor, ours=ours, at=now))
            return frozenset(issue.task.labels)

    def _comment(self, number: int, body: str, author: str) -> Comment:
        with self._lock:
            comments = self._issue(number).comments
            comment = Comment(
                id=f"{number}-{len(comments) + 1}", author=author, body=well_formed(body), at=self._clock.now()
            )
            comments.append(comment)
            return comment

    def _update(self, number: int, **changes: object) -> None:
        with self._lock:
            issue = self._issue(number)
            if any(getattr(issue.task, key) != value for key, value in changes.items()):
                issue.task = issue.task.model_copy(update={**changes, "updated": self._clock.now()})
                self._changes += 1
