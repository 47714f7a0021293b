"""The registry: projects.json, keyed by chat group id."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from devclaw_py.errors import AlreadyRegistered, UnknownProject
from devclaw_py.kernel.files import PUBLIC, back_up, folder, read, sweep, write
from devclaw_py.model.project import Project
from devclaw_py.rules.migrations import migrate, outdated
from devclaw_py.rules.slug import slug
from devclaw_py.state.document import EMPTY, Document, misshapen, parse
from devclaw_py.state.locking import Locks

Entries = dict[str, Any]


class Shelf(Protocol):
    """Where the registry's text is kept."""

    name: str

    def read(self) -> bytes | None:
        """Return the text, or None when there is none."""
        ...

    def write(self, content: bytes) -> None:
        """Replace the text as a whole."""
        ...

    def back_up(self, content: bytes) -> None:
        """Keep a text that is about to be given a new form."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """Keep other writers away."""
        ...


class FileShelf:
    """projects.json and its numbered backups."""

    def __init__(self, path: Path, locks: Locks, *, wait_s: float) -> None:
        self.path, self.name = path, str(path)
        self._locks, self._wait_s = locks, wait_s

    def read(self) -> bytes | None:
        """Return the file's content, or None when there is no file."""
        return read(self.path)

    def write(self, content: bytes) -> None:
        """Replace the file."""
        write(self.path, content, mode=PUBLIC)

    def back_up(self, content: bytes) -> None:
        """Write projects.json.bak-1, or the first number that is free."""
        back_up(self.path, content)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the registry's lock."""
        folder(self.path.parent)
        with self._locks.hold("registry", wait_s=self._wait_s, holder="a registry write"):
            sweep(self.path)
            yield


@dataclass(frozen=True)
class Reading:
    """One text of the registry and what it says; entries are never changed in place."""

    content: bytes
    document: Document
    entries: Entries
    migrated: bool


class StoredRegistry:
    """The Registry over a shelf: a change writes one entry anew and leaves the rest of the text as it stands."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._last: Reading | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored; an absent registry reads as an empty one."""
        return self._shelf.read() is not None

    def all(self) -> dict[str, Project]:
        """Return every project by group id, in the order of the file."""
        return {group_id: self._project(group_id, entry) for group_id, entry in self._entries().items()}

    def get(self, group_id: str) -> Project:
        """Return one project; only its entry is looked at closely."""
        return self._project(group_id, _entry(group_id, self._entries()))

    def change(self, group_id: str, edit: Callable[[Project], Project]) -> Project:
        """Apply ``edit`` to the project as it is now and return what was written."""
        with self._writing() as entries:
            entry = _entry(group_id, entries)
            before = self._project(group_id, entry)
            after = edit(before)
            entries[group_id] = merged(entry, before.on_disk(), after.on_disk())
        return after

    def add(self, project: Project) -> None:
        """Add a project; an empty slug is filled in.

        Raises:
            AlreadyRegistered: its group has a project, or another one has its slug.
        """
        with self._writing() as entries:
            if project.group_id in entries:
                raise AlreadyRegistered(
                    f"group {project.group_id} already has the project {entries[project.group_id].get('name')}"
                )
            taken = _slugs(entries)
            if project.slug in taken:
                raise AlreadyRegistered(
                    f"the short name {project.slug} belongs to another project; choose another name"
                )
            short = project.slug or _free_slug(project.name, project.group_id, taken)
            entries[project.group_id] = project.model_copy(update={"slug": short}).on_disk()

    def remove(self, group_id: str) -> Project:
        """Remove and return a project."""
        with self._writing() as entries:
            project = self._project(group_id, _entry(group_id, entries))
            del entries[group_id]
        return project

    def _entries(self) -> Entries:
        return self._reading(self._shelf.read()).entries

    @contextmanager
    def _writing(self) -> Iterator[Entries]:
        """Lock, read, let the entries be changed, write; a block that raises changes nothing."""
        with self._shelf.locked():
            content = self._shelf.read()
            reading = self._reading(content)
            entries = dict(reading.entries)
            yield entries
            if reading.migrated:
                self._shelf.back_up(reading.content)
            document = reading.document.with_entries(entries)
            # A text from JSON escapes may hold half a surrogate pair: written back as the escape it was.
            written = document.text.encode("utf-8", "backslashreplace")
            self._shelf.write(written)
            self._last = Reading(written, document, entries, migrated=False)

    def _reading(self, content: bytes | None) -> Reading:
        """Parse the text, unless it is byte for byte the one that was parsed or written last."""
        found = EMPTY.encode() if content is None else content
        last = self._last
        if last is None or last.content != found:
            document = parse(found, self._shelf.name)
            entries, migrated = self._present(document.entries)
            self._last = last = Reading(found, document, entries, migrated=migrated)
        return last

    def _present(self, found: Entries) -> tuple[Entries, bool]:
        """Return the entries in the present form, each with a slug, and whether one had an older form.

        Those that need no change are the same objects.
        """
        for group_id, entry in found.items():
            if not isinstance(entry, dict):
                raise misshapen(self._shelf.name, f"projects.{group_id}", "an object", entry)
        old = any(map(outdated, found.values()))
        entries = migrate(found) if old else dict(found)
        taken = _slugs(entries)
        for group_id, entry in entries.items():
            if not entry.get("slug") and isinstance(entry.get("name"), str):
                short = _free_slug(entry["name"], group_id, taken)
                taken.add(short)
                entries[group_id] = {**entry, "slug": short}
        return entries, old

    def _project(self, group_id: str, entry: Mapping[str, Any]) -> Project:
        given = _without_nulls(entry)
        seats: Entries = {
            role: _without_nulls(given[role]) for role in ("dev", "qa") if isinstance(given.get(role), dict)
        }
        for name in ("devWorkers", "qaWorkers"):
            if isinstance(given.get(name), list):
                seats[name] = [_without_nulls(seat) if isinstance(seat, dict) else seat for seat in given[name]]
        try:
            return Project.model_validate({**given, **seats, "groupId": group_id})
        except ValidationError as error:
            first = error.errors()[0]
            path = ".".join(["projects", group_id, *map(str, first["loc"])])
            found = None if first["type"] == "missing" else first["input"]
            wanted = first["msg"].removeprefix("Input should be ")
            raise misshapen(self._shelf.name, path, wanted, found) from error


def merged(entry: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> Entries:
    """Return the entry with what differs between ``before`` and ``after``; everything else stays as it was found."""
    new = {key: value for key, value in entry.items() if key in after or key not in before}
    for key, value in after.items():
        known = key in before
        if known and before[key] == value:
            continue
        old = entry.get(key)
        if known and all(isinstance(part, dict) for part in (old, before[key], value)):
            new[key] = merged(old or {}, before[key], value)
        else:
            new[key] = value
    return new


def _entry(group_id: str, entries: Entries) -> Entries:
    if group_id not in entries:
        raise UnknownProject(group_id, [(known, str(entry.get("name"))) for known, entry in entries.items()])
    found: Entries = entries[group_id]
    return found


def _slugs(entries: Entries) -> set[str]:
    return {entry["slug"] for entry in entries.values() if entry.get("slug") and isinstance(entry["slug"], str)}


def _free_slug(name: str, group_id: str, taken: set[str]) -> str:
    # A third project of one name gets the same digits as the second: its group tells it apart.
    names = chain([name, f"{name} {group_id}"], (f"{name} {group_id} {number}" for number in count(2)))
    return next(short for short in (slug(candidate, taken) for candidate in names) if short not in taken)


def _without_nulls(entry: Mapping[str, Any]) -> Entries:
    # The original and people write null for what is not set.
    return {key: value for key, value in entry.items() if value is not None}
