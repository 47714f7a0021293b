"""GitHub's issues behind the port. A move is two requests: `take` is a compare-and-set, `put` answers the full list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from devclaw_py.errors import InvalidArguments, TrackerDenied, TransferredTask, UnknownTask
from devclaw_py.model.finding import Finding
from devclaw_py.model.project import Forge
from devclaw_py.model.task import Comment, LabelEvent, Task
from devclaw_py.rules.labels import carries, distinct, same, state_of, without
from devclaw_py.trackers.forge.budget import Spend
from devclaw_py.trackers.forge.client import PAGE, segments
from devclaw_py.trackers.forge.poll import MANAGED, Listing, Poll
from devclaw_py.trackers.forge.reply import Reply
from devclaw_py.trackers.forge.round import Round
from devclaw_py.trackers.github import rights
from devclaw_py.trackers.github.client import Client
from devclaw_py.trackers.github.labels import labels_of
from devclaw_py.trackers.github.shapes import RawComment, RawEvent, RawIssue, RawLabel
from devclaw_py.trackers.text import fitting, one_line, well_formed

T = TypeVar("T")

BODY_CHARS = 65_536

LISTING = Listing(form=RawIssue, newest_change={"sort": "updated", "direction": "desc"}, opened="open")

GONE = frozenset({301, 404, 410})


class GitHubTracker:
    """An `IssueProvider` over the issues of one repository.

    The repository is addressed by its number: a rename changes nothing, and a new repository of the old name is never
    taken for it. ``name`` is the project's. What is asked of one instance goes through one `Client`.
    """

    def __init__(self, client: Client, forge: Forge, *, name: str) -> None:
        self._client, self._forge, self._name = client, forge, name
        self._path = segments("repositories", forge.id)
        self._labels = labels_of(client, forge)
        self._poll = Poll(client, self._path, client.folder / f"issues-{forge.id}.json", self._adopt, LISTING)
        self._round = Round(self._poll)

    @property
    def swaps(self) -> bool:
        """False: GitHub has no write that changes two labels and tells whether the first was there."""
        return False

    def where(self) -> str:
        """Return the tracker's name for messages."""
        return f"{self._forge.path} on {self._client.where}"

    def get(self, number: int) -> Task:
        """Return one issue."""
        self._round.end()
        return self._existing(number).task()

    def list_by_label(self, label: str) -> list[Task]:
        """Return all open issues that carry ``label``, lowest number first.

        Lists of several labels that are asked for one after the other are one poll.
        """
        return self._round.carrying(self._spelled(label))

    def pulse(self) -> str | None:
        """Return a sum over what one poll says; the lists that are asked for next are of the same poll."""
        return self._round.pulse()

    def list_all(self, *, newest: int | None = None) -> list[Task]:
        """Return the issues that devclaw looks after, lowest number first.

        With ``newest`` it is the highest numbers of all issues, asked for now: recovery looks there for its own.
        """
        self._round.end()
        if newest is None:
            return self._poll.tasks()
        found = list(islice(self._newest(min(newest, PAGE)), newest)) if newest else []
        return sorted(found, key=lambda task: task.number)

    def create(self, title: str, body: str, *, labels: Sequence[str], assignees: Sequence[str] = ()) -> Task:
        """Create an open issue.

        Raises:
            TrackerDenied: GitHub made it without the labels: the account may open issues and not label them.
        """
        self._round.end()
        wanted = [self._spelled(label) for label in distinct(filter(None, map(one_line, labels)))]
        reply = self._client.ask(
            "POST",
            f"{self._path}/issues",
            "create an issue",
            spend=Spend.BEGIN,
            body={
                "title": one_line(title),
                "body": fitting(well_formed(body), BODY_CHARS),
                "labels": [*wanted, MANAGED],
                "assignees": list(distinct(filter(None, map(one_line, assignees)))),
            },
        )
        made = self._client.shaped(RawIssue, reply)
        lost = [label for label in (*wanted, MANAGED) if not carries(made.names, label)]
        if lost:
            raise TrackerDenied(
                f"{self.where()} made issue #{made.number} without its labels {', '.join(lost)}",
                hint="the account may not label issues there: it needs the role Write",
            )
        return made.task()

    def take(self, number: int, label: str) -> frozenset[str] | None:
        """Take one label off. GitHub answers this once with success, and 404 to everybody else."""
        self._round.end()
        path = self._path + segments("issues", number, "labels", one_line(label))
        wish = f"take the label {label} off issue #{number}"
        reply = self._client.ask("DELETE", path, wish, spend=Spend.BEGIN, told=GONE)
        if reply.status == 404:
            self._existing(number)
            return None
        self._check(number, reply)
        return self._names(reply)

    def put(self, number: int, label: str) -> frozenset[str]:
        """Add one label, keep the others, and return the full set. With a state comes the label of managed issues."""
        self._round.end()
        label = self._spelled(one_line(label))
        return self._names(self._add(number, [label] if state_of(label) is None else [label, MANAGED]))

    def swap(self, number: int, source: str, target: str) -> frozenset[str]:
        """Take one label off and add another: two writes here."""
        self.take(number, source)
        return self.put(number, target)

    def comment(self, number: int, body: str) -> Comment:
        """Add a comment; what GitHub finds too long is shortened in the midst of it.

        Raises:
            CommentRefused: the conversation is locked.
        """
        self._round.end()
        reply = self._client.ask(
            "POST",
            self._path + segments("issues", number, "comments"),
            f"comment on issue #{number}",
            spend=Spend.FINISH,
            body={"body": fitting(well_formed(body), BODY_CHARS)},
            told=GONE,
        )
        self._check(number, reply)
        return self._client.shaped(RawComment, reply).comment()

    def comments(self, number: int) -> list[Comment]:
        """Return all comments, oldest first."""
        return [raw.comment() for raw in self._all(number, RawComment, "comments")]

    def close(self, number: int) -> None:
        """Close an issue as completed."""
        self._change(number, "close", {"state": "closed", "state_reason": "completed"})

    def reopen(self, number: int) -> None:
        """Open an issue."""
        self._change(number, "reopen", {"state": "open"})

    def ensure_labels(self, colours: Mapping[str, str]) -> None:
        """Create the labels that are missing, and that of managed issues. Others' spelling and colours stay."""
        self._labels.ensure({self._spelled(label): colour for label, colour in colours.items()})

    def last_event(self, number: int, label: str) -> LabelEvent | None:
        """Return the newest event of ``label``, or None."""
        return next((event for event in reversed(self.label_events(number)) if same(event.label, label)), None)

    def label_events(self, number: int) -> list[LabelEvent]:
        """Return all label events, oldest first."""
        login = self._client.login()
        found = [raw.label_event(login) for raw in self._all(number, RawEvent, "events")]
        return [event for event in found if event is not None]

    def diagnose(self) -> list[Finding]:
        """Return whether the repository can be reached, what it lacks, and how much of the budget is left."""
        return rights.diagnose(self._client, self._forge, self._labels, name=self._name)

    def check_rights(self) -> list[Finding]:
        """Return each right that the token lacks, tried out without leaving anything behind; for registration."""
        return rights.check(self._client, self._forge, self._labels, name=self._name)

    def _newest(self, page: int) -> Iterator[Task]:
        asked = {"state": "all", "sort": "created", "direction": "desc", "per_page": str(page)}
        seen: set[int] = set()
        for raws in self._client.pages(RawIssue, f"{self._path}/issues", "list issues", parameters=asked):
            for raw in raws:
                # What is made meanwhile moves the last one of a page on to the next.
                if raw.pull_request is None and raw.number not in seen:
                    seen.add(raw.number)
                    yield raw.task()

    def _existing(self, number: int) -> RawIssue:
        path = self._path + segments("issues", number)
        reply = self._client.ask("GET", path, f"read issue #{number}", told=GONE)
        self._check(number, reply)
        raw = self._client.shaped(RawIssue, reply)
        if raw.pull_request is not None or raw.number != number:
            raise UnknownTask(number, self.where())
        return raw

    def _all(self, number: int, form: type[T], what: str) -> list[T]:
        """Return a whole list that belongs to an issue."""
        path, wish = self._path + segments("issues", number, what), f"read the {what} of issue #{number}"
        found: list[T] = []
        for reply in self._client.replies(path, wish, told=GONE):
            self._check(number, reply)
            found += self._client.shaped(list[form], reply)  # type: ignore[valid-type]  # a form given at run time
        return found

    def _add(self, number: int, labels: Sequence[str], spend: Spend = Spend.FINISH) -> Reply:
        reply = self._client.ask(
            "POST",
            self._path + segments("issues", number, "labels"),
            f"label issue #{number}",
            spend=spend,
            body={"labels": list(labels)},
            told=GONE,
        )
        self._check(number, reply)
        return reply

    def _adopt(self, number: int) -> None:
        # Hundreds at once must leave room for the second half of a move.
        self._add(number, [MANAGED], Spend.BEGIN)

    def _change(self, number: int, verb: str, body: Mapping[str, str]) -> None:
        self._round.end()
        path = self._path + segments("issues", number)
        reply = self._client.ask(
            "PATCH", path, f"{verb} issue #{number}", spend=Spend.FINISH, body=dict(body), told=GONE
        )
        self._check(number, reply)

    def _names(self, reply: Reply) -> frozenset[str]:
        return frozenset(without((raw.name for raw in self._client.shaped(list[RawLabel], reply)), MANAGED))

    def _check(self, number: int, reply: Reply) -> None:
        """Raise where an answer says that the issue is not there.

        Raises:
            UnknownTask: it was deleted or there never was one.
            TransferredTask: it belongs to another repository now.
            TrackerError: it is the repository that cannot be seen, which says nothing of the issue.
        """
        if reply.status == 301:
            self._poll.forget(number)
            raise TransferredTask(number, self.where())
        if reply.status == 404 or (reply.status == 410 and "disabled" not in str(reply.body).lower()):
            self._client.ask("GET", self._path, f"look for issue #{number} in {self._forge.path}")
            self._poll.forget(number)
            raise UnknownTask(number, self.where())
        if reply.status == 410:
            raise TrackerDenied(
                f"issues are switched off in {self.where()}", hint="switch them on in the repository's settings"
            )

    @staticmethod
    def _spelled(label: str) -> str:
        if "," in label:
            found = f"the label {label!r} has a comma, at which GitHub divides lists of labels"
            raise InvalidArguments(found, hint="choose a label without one")
        return label
