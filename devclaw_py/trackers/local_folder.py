"""One folder of issues under concurrent processes, editors and ``kill -9``.

Two files an issue: ``<number>.md`` is the truth of what the issue is now, for people and devclaw alike;
``<number>.log`` is the history. They share no transaction, so a write of ours has one order and one mark:

1. lock the folder (flock: it is free as soon as its holder is dead); settle what is left of the last writer
2. read the .md and decide: a compare-and-set
3. write the new .md aside, as ``.<number>.md.<write>.tmp``, and see it onto the disk
4. append the events to the .log, each with the name of the write and the labels that result, and see them onto the disk
5. compare the .md with what was read in 2: an editor that saved meanwhile wins, the write is voided and begun again
6. rename the written file over the .md, see the folder onto the disk

The rename takes the temporary name away, so *the temporary name is the mark*: lines of a write whose temporary file
still stands have not come to be. Killed between 4 and 6, the lines are in the log and the mark stands: readers pass
those lines over, and the next who locks appends ``void`` for them before it removes the mark. Killed after 6, the mark
is gone and the lines hold. Killed before 4, the mark stands and no line names it: it is swept with the next ``create``.
The other order, 6 before 4, would lose our events and put them down to a human.

What a human does in an editor leaves no line. Each line holds the labels that resulted, so the difference between the
last one and the file is the human's: readers see it as events at once, the next who locks appends it, dated with the
time of the save. A reader takes no lock: it reads log, file, mark, and again until two readings are the same.

What remains: a save that falls between 5 and 6, some microseconds, or an editor that opened the old file before 6 and
writes into it afterwards, is lost. The log has one writer at a time; a torn last line is ended before the next.

The highest number ever used stands in ``.number``, written before the first file of an issue, so that a number does not
come back when somebody deletes the files.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from devclaw_py.errors import ConfigError, ProjectBusy, TrackerUnavailable, UnknownTask
from devclaw_py.kernel.clock import Clock
from devclaw_py.kernel.locks import hold
from devclaw_py.model.task import Task
from devclaw_py.trackers import local_files as files
from devclaw_py.trackers.local_format import IssueFile, Unreadable, edited, parse, render
from devclaw_py.trackers.local_log import Entry, Log, by_hand, effective, last_write, lines, parse_log
from devclaw_py.trackers.local_numbers import next_number, note_number

HALF_SAVED_TRIES = 5
HALF_SAVED_S = 0.02
SNAPSHOT_TRIES = 20
SAVE_TRIES = 20


@dataclass(frozen=True)
class Change:
    """What a write makes of an issue. ``label`` and ``added`` go with the event ``label``."""

    event: str
    labels: tuple[str, ...]
    closed: bool
    label: str | None = None
    added: bool | None = None


@dataclass(frozen=True)
class Seen:
    """An issue with its history at one moment. ``unlogged`` is what a human did and no line says yet."""

    file: IssueFile
    log: Log
    happened: tuple[Entry, ...]
    unlogged: tuple[Entry, ...]


class IssueFolder:
    """The files of one tracker. ``where`` names it in messages."""

    def __init__(self, folder: Path, *, where: str, clock: Clock, timeout_s: float, actor: str) -> None:
        self.folder = Path(os.path.abspath(folder))
        self._where, self._clock, self._timeout_s, self._actor = where, clock, timeout_s, actor
        self._parsed: dict[int, IssueFile] = {}

    def issue_path(self, number: int) -> Path:
        """Return where an issue stands."""
        return self.folder / f"{number}.md"

    def log_path(self, number: int) -> Path:
        """Return where an issue's history stands."""
        return self.folder / f"{number}.log"

    def mark(self, number: int, write: str) -> Path:
        """Return the temporary name of a write."""
        return self.folder / f".{number}.md.{write}.tmp"

    def names(self) -> list[str]:
        """Return the names of all files in the folder."""
        try:
            return os.listdir(self.folder)
        except OSError as error:
            raise self._no_folder(error) from error

    def pulse(self) -> str:
        """Return a sum over names, sizes and times of the issues' files, without reading any."""
        return files.pulse(self.folder, self.names())

    def numbers(self) -> list[int]:
        """Return the numbers of all issues, lowest first; editors' droppings are none."""
        return sorted(int(found[1]) for found in map(files.ISSUE.fullmatch, self.names()) if found)

    def issue(self, number: int) -> IssueFile:
        """Read an issue, again for a moment where an editor seems to be in the midst of saving.

        Raises:
            UnknownTask, Unreadable: there is none; it cannot be understood.
        """
        for _ in range(HALF_SAVED_TRIES):
            try:
                return self._read(number)
            except Unreadable:
                self._clock.sleep(HALF_SAVED_S)
        return self._read(number)

    def log(self, number: int) -> Log:
        """Read an issue's history as it stands in the file; none is empty."""
        try:
            return parse_log(files.read(self.log_path(number))[0])
        except FileNotFoundError:
            return Log(b"", (), ())

    def history(self, number: int) -> tuple[Entry, ...]:
        """Return what happened to an issue, a human's unlogged edits last."""
        seen = self._look(number)
        for _ in range(SNAPSHOT_TRIES):
            again = self._look(number)
            if (again.file.raw, again.log.raw) == (seen.file.raw, seen.log.raw):
                # The mark of the first reading was looked for between two equal readings of the file.
                return (*seen.happened, *seen.unlogged)
            seen = again
        with self.locked():
            seen = self._settled(number)
        return seen.happened

    def add(self, number: int, entry: Entry) -> None:
        """Append a line that changes nothing in the issue itself."""
        with self.locked():
            self._settled(number)
            files.append(self.log_path(number), lines([entry]))

    def change(self, number: int, decide: Callable[[IssueFile], Change | None]) -> tuple[IssueFile, Change | None]:
        """Change an issue by what ``decide`` makes of it as it stands; None leaves it. Returns what it was decided on.

        Raises:
            UnknownTask, Unreadable: there is none; it cannot be understood.
            TrackerUnavailable: not free in time, or saved by somebody over and over.
            ConfigError: the folder cannot be written.
        """
        with self.locked():
            for _ in range(SAVE_TRIES):
                file = self._settled(number).file
                change = decide(file)
                if change is None or self._commit(number, file, change):
                    return file, change
        raise TrackerUnavailable(f"{self.issue_path(number)} is saved by somebody over and over; try again")

    def create(self, draft: Task) -> Task:
        """Write a new issue under a number never used before."""
        files.make_folder(self.folder)
        with self.locked():
            self._sweep()
            while True:
                number = next_number(self.folder, self.names())
                task = draft.model_copy(update={"number": number, "url": self.issue_path(number).as_uri()})
                if self._commit_new(task):
                    return task

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for a write."""
        lock = hold(self.folder / ".lock", wait_s=self._timeout_s, holder=self._actor, clock=self._clock)
        with ExitStack() as stack:
            try:
                stack.enter_context(lock)
            except ProjectBusy as error:
                raise TrackerUnavailable(f"{self._where}: {error}") from error
            except OSError as error:
                raise self._no_folder(error) from error
            yield

    def pending(self, number: int, write: str) -> bool:
        """Whether a write has not reached the issue: its mark stands, and not as a second name of the issue."""
        try:
            mark = os.lstat(self.mark(number, write))
        except FileNotFoundError:
            return False
        try:
            return not os.path.samestat(mark, os.lstat(self.issue_path(number)))
        except FileNotFoundError:
            return True

    def _read(self, number: int) -> IssueFile:
        path = self.issue_path(number)
        try:
            raw, saved = files.read(path)
        except FileNotFoundError:
            self.names()  # no folder is another failure than no issue
            raise UnknownTask(number, self._where) from None
        # The same bytes of the same time mean the same. A list of each queue reads every file; the YAML is most of it.
        known = self._parsed.get(number)
        if known is None or (known.raw, known.saved) != (raw, saved):
            self._parsed[number] = known = parse(raw, path, number=number, written=saved)
        return known

    def _look(self, number: int) -> Seen:
        log, file = self.log(number), self.issue(number)
        happened = effective(log.entries, pending=lambda write: self.pending(number, write))
        return Seen(file, log, happened, by_hand(happened, file.labels, file.saved))

    def _settled(self, number: int) -> Seen:
        """Write down what the last writer left and what a human did. Only under the lock."""
        self._drop_pending(number)
        seen = self._look(number)
        if not seen.unlogged:
            return seen
        files.append(self.log_path(number), lines(seen.unlogged))
        return Seen(seen.file, seen.log, (*seen.happened, *seen.unlogged), ())

    def _drop_pending(self, number: int) -> None:
        write = last_write(self.log(number).entries)
        if write is not None:
            self._drop(number, write)

    def _drop(self, number: int, write: str) -> None:
        if self.pending(number, write) and any(entry.write == write for entry in self.log(number).entries):
            files.append(self.log_path(number), lines([Entry(event="void", at=self._clock.now(), write=write)]))
        files.remove(self.mark(number, write))

    def _commit(self, number: int, file: IssueFile, change: Change) -> bool:
        now, write, path = self._clock.now(), uuid.uuid4().hex[:16], self.issue_path(number)
        after = edited(file, number=number, labels=change.labels, closed=change.closed, updated=now)
        note_number(self.folder, number)
        mark = self.mark(number, write)
        files.write_new(mark, after, like=path)
        entry = Entry(event=change.event, at=now, actor=self._actor, labels=change.labels, write=write)
        entry = entry.model_copy(update={"label": change.label, "added": change.added})
        with self._dropped_on_failure(number, write):
            files.append(self.log_path(number), lines([entry]))
            if not self._stands(path, file.raw):
                self._drop(number, write)
                return False
            files.publish(mark, path)
        return True

    def _commit_new(self, task: Task) -> bool:
        write, path = uuid.uuid4().hex[:16], self.issue_path(task.number)
        mark = self.mark(task.number, write)
        files.write_new(mark, render(task), like=path)
        with self._dropped_on_failure(task.number, write):
            files.append(self.log_path(task.number), lines(self._first_entries(task, write)))
            try:
                files.publish_new(mark, path)
            except FileExistsError:
                self._drop(task.number, write)
                return False
        return True

    @contextmanager
    def _dropped_on_failure(self, number: int, write: str) -> Iterator[None]:
        try:
            yield
        except ConfigError:
            self._drop(number, write)
            raise

    def _first_entries(self, task: Task, write: str) -> Iterator[Entry]:
        at = task.created or self._clock.now()
        yield Entry(event="created", at=at, actor=self._actor, labels=(), write=write)
        for count, label in enumerate(task.labels, start=1):
            so_far = task.labels[:count]
            yield Entry(event="label", at=at, actor=self._actor, label=label, added=True, labels=so_far, write=write)

    def _stands(self, path: Path, raw: bytes) -> bool:
        try:
            return files.read(path)[0] == raw
        except (FileNotFoundError, Unreadable):
            return False

    def _sweep(self) -> None:
        for name in self.names():
            found = files.LEFTOVER.fullmatch(name)
            if found:
                self._drop(int(found[1]), found[2])

    def _no_folder(self, error: OSError) -> TrackerUnavailable | ConfigError:
        if isinstance(error, FileNotFoundError):
            return TrackerUnavailable(
                f"the folder of {self._where}, {self.folder}, does not exist",
                hint="put it back, or call project_register, which makes it",
            )
        return ConfigError(f"{self.folder} cannot be used: {error.strerror}; mend its permissions")
