"""The issues that devclaw looks after, kept between polls: one list call a project, which costs nothing when idle.

All managed issues carry one label that never moves. They are listed newest change first; the first page is asked for
with the ETag of last time, and a 304, which GitHub does not count, says that what is in the file is how it stands. Of a
longer list only the pages are read that hold changes. So that nothing is missed for good the whole list is read once an
hour where it is longer than a page, and what a list cannot show (a deleted issue) is dropped by whoever runs into it.

People label issues by hand. So every two minutes one more list is asked for, of whatever changed in the repository,
which is free too while nothing does; once a day each state is listed. What carries a state there gets the label.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from devclaw_py.errors import TrackerError, UnknownTask
from devclaw_py.kernel import files
from devclaw_py.model.pipeline import State
from devclaw_py.model.task import Task
from devclaw_py.rules.labels import carries, states_in
from devclaw_py.trackers.forge.client import PAGE, ForgeClient
from devclaw_py.trackers.forge.reply import Reply, next_page

FULL = timedelta(hours=1)
LOOK = timedelta(minutes=2)
SWEEP = timedelta(hours=24)
OVERLAP = timedelta(seconds=5)
"""GitHub dates changes in whole seconds, and no forge always in the order in which they become visible."""

LOOKS = 3

MANAGED = "devclaw"
"""The label on every issue that devclaw looks after. It never moves, so an issue without a state is listed still."""


class Listed(Protocol):
    """An issue as a forge lists it. ``foreign`` is what is in the list and no issue that devclaw looks after."""

    updated_at: datetime

    @property
    def number(self) -> int:
        """Its number in the repository."""
        ...

    @property
    def foreign(self) -> bool:
        """Whether devclaw leaves it alone."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its labels."""
        ...

    def task(self) -> Task:
        """Return it as a task."""
        ...


@dataclass(frozen=True)
class Listing:
    """How a forge is asked for issues: their form, the words for the newest change first, and for open ones."""

    form: type[Listed]
    newest_change: Mapping[str, str]
    opened: str


class Kept(BaseModel):
    """The file: what was seen, with which ETag of which token, and when more than the first page was looked at."""

    fingerprint: str = ""
    etag: str = ""
    recent_etag: str = ""
    whole: bool = False
    full_at: AwareDatetime | None = None
    looked_at: AwareDatetime | None = None
    swept_at: AwareDatetime | None = None
    tasks: dict[int, Task] = Field(default_factory=dict)
    strays: dict[int, Task] = Field(default_factory=dict)


class Poll:
    """The managed issues of the repository at ``path``; ``adopt`` puts the label on an issue."""

    def __init__(
        self, client: ForgeClient, path: str, file: Path, adopt: Callable[[int], None], listing: Listing
    ) -> None:
        self._client, self._path, self._file, self._adopt, self._listing = client, path, file, adopt, listing
        self._newest_change = {**listing.newest_change, "per_page": str(PAGE)}

    def tasks(self) -> list[Task]:
        """Return all managed issues, open and closed, lowest number first."""
        kept = self._load()
        before = kept.model_dump_json()
        self._sync(kept)
        self._look(kept)
        self._save(kept, before)
        found = {**kept.strays, **kept.tasks}
        return [found[number] for number in sorted(found)]

    def forget(self, number: int) -> None:
        """Drop an issue that turned out to be gone."""
        kept = self._load()
        if number in kept.tasks or number in kept.strays:
            before = kept.model_dump_json()
            kept.tasks.pop(number, None)
            kept.strays.pop(number, None)
            kept.etag = ""
            self._save(kept, before)

    def _sync(self, kept: Kept) -> None:
        """Bring ``kept`` up to what the list says. A list that changed while it was read is read again."""
        for _ in range(LOOKS):
            now = self._client.clock.now()
            due = not kept.whole and _due(kept.full_at, FULL, now)
            reply = self._first_page({"labels": MANAGED, "state": "all"}, "" if due else kept.etag)
            if reply.status == 304:
                return
            whole = self._merge(kept, reply, everything=due)
            if due:
                kept.full_at = now
            if whole:
                return

    def _first_page(self, filters: dict[str, str], etag: str) -> Reply:
        asked = {**self._newest_change, **filters}
        return self._client.ask("GET", f"{self._path}/issues", "list issues", parameters=asked, etag=etag)

    def _merge(self, kept: Kept, reply: Reply, *, everything: bool) -> bool:
        """Take in the pages from the first on, until nothing newer can follow; return whether one page is all."""
        seen: dict[int, Task] = {}
        watermark = max((task.updated for task in kept.tasks.values() if task.updated), default=None)
        pages, oldest, ended = 0, None, False
        for page, ended in self._following(reply):
            pages += 1
            seen |= {raw.number: raw.task() for raw in page if raw.number not in seen and not raw.foreign}
            oldest = page[-1].updated_at if page else oldest
            if ended or (not everything and watermark and oldest and oldest < watermark - OVERLAP):
                break
        older = {} if ended else {n: task for n, task in kept.tasks.items() if _before(task, oldest)}
        kept.tasks = older | seen
        kept.etag, kept.whole = reply.headers.get("etag", ""), ended and pages == 1
        for number in seen:
            kept.strays.pop(number, None)
        return kept.whole

    def _following(self, reply: Reply) -> Iterator[tuple[list[Listed], bool]]:
        """Yield each page from ``reply`` on, and whether it is the last one."""
        asked = {**self._newest_change, "labels": MANAGED, "state": "all"}
        while True:
            following = next_page(reply)
            yield self._shaped(reply), following is None
            if following is None:
                return
            asked |= following
            reply = self._client.ask("GET", f"{self._path}/issues", "list issues", parameters=asked)

    def _shaped(self, reply: Reply) -> list[Listed]:
        form = self._listing.form
        return self._client.shaped(list[form], reply)  # type: ignore[valid-type]  # a form given at run time

    def _look(self, kept: Kept) -> None:
        """Look for issues that people gave a state by hand, and take them in."""
        now = self._client.clock.now()
        if _due(kept.swept_at, SWEEP, now):
            for state in State:
                filters = {"labels": state.value, "state": self._listing.opened}
                for page in self._client.pages(
                    self._listing.form, f"{self._path}/issues", "list issues", parameters=filters
                ):
                    _note_strays(kept, page)
            kept.swept_at = now
        if _due(kept.looked_at, LOOK, now):
            reply = self._first_page({"state": self._listing.opened}, kept.recent_etag)
            if reply.status != 304:
                _note_strays(kept, self._shaped(reply))
                kept.recent_etag = reply.headers.get("etag", "")
            kept.looked_at = now
            self._take_in(kept)

    def _take_in(self, kept: Kept) -> None:
        """Label what was found. Where that is refused the issues are listed all the same, and tried again."""
        for number, task in list(kept.strays.items()):
            try:
                self._adopt(number)
                kept.tasks[number] = task
            except UnknownTask:
                pass  # deleted since it was listed
            except TrackerError:
                return
            del kept.strays[number]

    def _load(self) -> Kept:
        content = files.read(self._file)
        try:
            kept = Kept.model_validate(json.loads(content or b"{}"))
        except (ValueError, ValidationError):
            kept = Kept()
        if kept.fingerprint != self._client.fingerprint:
            # An ETag holds for the token it was given to; with another one the same list is a 200.
            kept.fingerprint, kept.etag, kept.recent_etag = self._client.fingerprint, "", ""
        return kept

    def _save(self, kept: Kept, before: str) -> None:
        after = kept.model_dump_json()
        if after != before:
            files.private_folder(self._file.parent)
            files.write(self._file, after.encode(), mode=files.PRIVATE)


def _note_strays(kept: Kept, found: Iterable[Listed]) -> None:
    for raw in found:
        if raw.foreign:
            continue
        if carries(raw.names, MANAGED) or not states_in(raw.names):
            kept.strays.pop(raw.number, None)
        else:
            kept.tasks.pop(raw.number, None)
            kept.strays[raw.number] = raw.task()


def _due(at: datetime | None, every: timedelta, now: datetime) -> bool:
    return at is None or not at <= now < at + every


def _before(task: Task, oldest: datetime | None) -> bool:
    return oldest is not None and task.updated is not None and task.updated <= oldest
