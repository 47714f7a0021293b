"""GitLab's issues behind the port. A move is a read and one write, which takes a label off and adds another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from devclaw_py.errors import CommentRefused, InvalidArguments, TrackerDenied, TransferredTask, UnknownTask
from devclaw_py.model.finding import Finding
from devclaw_py.model.project import Forge
from devclaw_py.model.task import Comment, LabelEvent, Task
from devclaw_py.rules.labels import carries, distinct, same, state_of, without
from devclaw_py.trackers.forge.budget import Spend
from devclaw_py.trackers.forge.client import PAGE, segments
from devclaw_py.trackers.forge.poll import MANAGED, Listing, Poll
from devclaw_py.trackers.forge.reply import Reply
from devclaw_py.trackers.forge.round import Round
from devclaw_py.trackers.gitlab import labels, rights
from devclaw_py.trackers.gitlab.client import GitLabClient
from devclaw_py.trackers.gitlab.commands import plain_text
from devclaw_py.trackers.gitlab.shapes import RawEvent, RawIssue, RawNote, RawUser
from devclaw_py.trackers.text import fitting, one_line, well_formed

T = TypeVar("T")

BODY_CHARS = 1_000_000

LISTING = Listing(form=RawIssue, newest_change={"order_by": "updated_at", "sort": "desc"}, opened="opened")

GONE = frozenset({404})


class GitLabTracker:
    """An `IssueProvider` over the issues of one project; confidential ones, incidents and tasks are none of them.

    The project is addressed by its number: a rename changes nothing. ``name`` is devclaw's name of it. What is asked
    of one instance goes through one `GitLabClient`.
    """

    def __init__(self, client: GitLabClient, forge: Forge, *, name: str) -> None:
        self._client, self._forge, self._name = client, forge, name
        self._path = segments("projects", forge.id)
        self._poll = Poll(client, self._path, client.folder / f"issues-{forge.id}.json", self._adopt, LISTING)
        self._round = Round(self._poll)

    @property
    def swaps(self) -> bool:
        """True: GitLab takes a label off and adds another in one write."""
        return True

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
        """Create an open issue. What is not known as a user is not assigned: it is refused.

        Raises:
            InvalidArguments: no such user, or a label with a comma.
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
                "description": _text(body),
                "labels": ",".join([*wanted, MANAGED]),
                "assignee_ids": [self._user(name) for name in distinct(filter(None, map(one_line, assignees)))],
            },
        )
        made = self._client.shaped(RawIssue, reply)
        lost = [label for label in (*wanted, MANAGED) if not carries(made.names, label)]
        if lost:
            raise TrackerDenied(
                f"{self.where()} made issue #{made.number} without its labels {', '.join(lost)}",
                hint="the account may not label issues there: it needs the role Developer",
            )
        return made.task()

    def take(self, number: int, label: str) -> frozenset[str] | None:
        """Take one label off, in each spelling the issue has of it; None when it was not there."""
        self._round.end()
        spelled = [name for name in self._existing(number).names if same(name, one_line(label))]
        if not spelled:
            return None
        return self._names(self._edit(number, Spend.BEGIN, remove_labels=spelled))

    def put(self, number: int, label: str) -> frozenset[str]:
        """Add one label, keep the others, and return the full set. With a state comes the label of managed issues."""
        self._round.end()
        return self._names(self._edit(number, Spend.FINISH, add_labels=self._with_managed(label)))

    def swap(self, number: int, source: str, target: str) -> frozenset[str]:
        """Take one label off and add another in one write, and return the full set afterwards."""
        self._round.end()
        added = self._with_managed(target)
        reply = self._edit(number, Spend.BEGIN, add_labels=added, remove_labels=[self._spelled(source)])
        odd = [name for name in self._client.shaped(RawIssue, reply).names if same(name, source)]
        if odd:
            # It stands there in another spelling, which to GitLab is another label.
            reply = self._edit(number, Spend.FINISH, remove_labels=odd)
        return self._names(reply)

    def comment(self, number: int, body: str) -> Comment:
        """Add a comment; of what GitLab would carry out as a quick action nothing is carried out.

        Raises:
            CommentRefused: the discussion is locked.
        """
        self._round.end()
        path, wish = self._path + segments("issues", number, "notes"), f"comment on issue #{number}"
        told = frozenset({403, 404})
        reply = self._client.ask("POST", path, wish, spend=Spend.FINISH, body={"body": _text(body)}, told=told)
        self._check(number, reply)
        if reply.status == 403:
            refusal = self._client.refusal(reply, wish, "")
            if self._existing(number).discussion_locked:
                raise CommentRefused(str(refusal), hint="unlock the discussion on GitLab")
            raise refusal
        return self._client.shaped(RawNote, reply).comment()

    def comments(self, number: int) -> list[Comment]:
        """Return all comments, oldest first, without the notes that GitLab writes itself."""
        asked = {"sort": "asc", "order_by": "created_at"}
        return [note.comment() for note in self._all(number, RawNote, "notes", asked) if not note.system]

    def close(self, number: int) -> None:
        """Close an issue."""
        self._change(number, "close")

    def reopen(self, number: int) -> None:
        """Open an issue."""
        self._change(number, "reopen")

    def ensure_labels(self, colours: Mapping[str, str]) -> None:
        """Create the labels that are missing, and that of managed issues. Others' colours stay."""
        labels.ensure(self._client, self._path, {self._spelled(name): colour for name, colour in colours.items()})

    def last_event(self, number: int, label: str) -> LabelEvent | None:
        """Return the newest event of ``label``, or None."""
        return next((event for event in reversed(self.label_events(number)) if same(event.label, label)), None)

    def label_events(self, number: int) -> list[LabelEvent]:
        """Return all label events, oldest first."""
        login = self._client.login()
        raws = sorted(self._all(number, RawEvent, "resource_label_events"), key=lambda raw: raw.id)
        found = [raw.label_event(login) for raw in raws]
        return [event for event in found if event is not None]

    def diagnose(self) -> list[Finding]:
        """Return whether the project can be reached, what it lacks, and how much of the budget is left."""
        return rights.diagnose(self._client, self._forge, name=self._name)

    def check_rights(self) -> list[Finding]:
        """Return each right that the token lacks; for registration. The labels of the states are there afterwards."""
        return rights.check(self._client, self._forge, name=self._name)

    def _newest(self, page: int) -> Iterator[Task]:
        asked = {"state": "all", "order_by": "created_at", "sort": "desc", "per_page": str(page)}
        seen: set[int] = set()
        for raws in self._client.pages(RawIssue, f"{self._path}/issues", "list issues", parameters=asked):
            for raw in raws:
                # What is made meanwhile moves the last one of a page on to the next.
                if not raw.foreign and raw.number not in seen:
                    seen.add(raw.number)
                    yield raw.task()

    def _existing(self, number: int) -> RawIssue:
        reply = self._client.ask("GET", self._address(number), f"read issue #{number}", told=GONE)
        self._check(number, reply)
        raw = self._client.shaped(RawIssue, reply)
        if raw.moved_to_id is not None:
            self._poll.forget(number)
            raise TransferredTask(number, self.where())
        if raw.foreign:
            kind = "confidential" if raw.confidential else f"of the type {raw.issue_type}"
            raise UnknownTask(number, f"{self.where()}, where it is {kind} and left alone")
        return raw

    def _all(self, number: int, form: type[T], what: str, asked: Mapping[str, str] | None = None) -> list[T]:
        """Return a whole list that belongs to an issue."""
        path, wish = self._path + segments("issues", number, what), f"read the {what} of issue #{number}"
        found: list[T] = []
        for reply in self._client.replies(path, wish, parameters=asked, told=GONE):
            self._check(number, reply)
            found += self._client.shaped(list[form], reply)  # type: ignore[valid-type]  # a form given at run time
        return found

    def _edit(
        self, number: int, spend: Spend, *, add_labels: Sequence[str] = (), remove_labels: Sequence[str] = ()
    ) -> Reply:
        """Change labels; ``labels``, which sets all of them, would undo what somebody does meanwhile."""
        lists = {"add_labels": add_labels, "remove_labels": remove_labels}
        body = {key: ",".join(names) for key, names in lists.items() if names}
        return self._write(number, f"label issue #{number}", spend, body)

    def _change(self, number: int, verb: str) -> None:
        self._round.end()
        self._write(number, f"{verb} issue #{number}", Spend.FINISH, {"state_event": verb})

    def _write(self, number: int, wish: str, spend: Spend, body: Mapping[str, str]) -> Reply:
        reply = self._client.ask("PUT", self._address(number), wish, spend=spend, body=body, told=GONE)
        self._check(number, reply)
        return reply

    def _adopt(self, number: int) -> None:
        # Hundreds at once must leave room for what ends an operation.
        self._edit(number, Spend.BEGIN, add_labels=[MANAGED])

    def _names(self, reply: Reply) -> frozenset[str]:
        return frozenset(without(self._client.shaped(RawIssue, reply).names, MANAGED))

    def _check(self, number: int, reply: Reply) -> None:
        """Raise where an answer says that the issue is not there.

        Raises:
            UnknownTask: it was deleted, there never was one, or the account's role does not see it.
            TrackerError: it is the project that cannot be seen, which says nothing of the issue.
        """
        if reply.status == 404:
            self._client.ask("GET", self._path, f"look for issue #{number} in {self._forge.path}")
            self._poll.forget(number)
            raise UnknownTask(number, self.where())

    def _user(self, name: str) -> int:
        found = self._client.read(list[RawUser], "/users", f"find the user {name}", parameters={"username": name})
        if not found:
            raise InvalidArguments(f"{self._client.where} has no user {name} to assign")
        return found[0].id

    def _address(self, number: int) -> str:
        return self._path + segments("issues", number)

    def _with_managed(self, label: str) -> list[str]:
        label = self._spelled(one_line(label))
        return [label] if state_of(label) is None else [label, MANAGED]

    @staticmethod
    def _spelled(label: str) -> str:
        if "," in label:
            found = f"the label {label!r} has a comma, at which GitLab divides lists of labels"
            raise InvalidArguments(found, hint="choose a label without one")
        return label


def _text(body: str) -> str:
    return fitting(plain_text(well_formed(body)), BODY_CHARS)
