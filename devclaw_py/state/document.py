"""The text of projects.json, read so that one project can be changed and every other byte of it stays.

Unknown fields, their order and a person's layout survive because what is not changed is not written anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from json.decoder import WHITESPACE, scanstring  # type: ignore[attr-defined]  # public names, missing in typeshed
from typing import Any, NamedTuple

from devclaw_py.errors import StateCorrupt

EMPTY = '{\n  "projects": {}\n}\n'
DECODER = json.JSONDecoder()
ENTRY_BREAK = "\n    "
BLANKS = frozenset(" \t\n\r")
FIRST, BETWEEN, LAST = "{" + ENTRY_BREAK, "," + ENTRY_BREAK, "\n  }"


class Member(NamedTuple):
    """One value of an object, and where it stands in the text."""

    value: Any
    key_start: int
    start: int
    end: int


@dataclass(frozen=True)
class Document:
    """One reading: the text, where the object of the projects stands in it, and each entry with its own text.

    A span goes from the entry's key to the end of its value.
    """

    text: str
    start: int
    end: int
    entries: dict[str, Any]
    spans: dict[str, tuple[int, int]]

    def with_entries(self, entries: Mapping[str, Any]) -> Document:
        """Return the document with these entries; one that is the same object as before keeps its own text."""
        changed = [key for key, entry in entries.items() if self.entries.get(key) is not entry]
        if len(changed) <= 1 and entries and [*entries] == [*self.entries]:
            return self._with_entry(changed[0], entries) if changed else self
        members = [self._member_text(key, entry) for key, entry in entries.items()]
        inner = FIRST + BETWEEN.join(members) + LAST if members else "{}"
        text = self.text[: self.start] + inner + self.text[self.end :]
        starts = accumulate((len(member) + len(BETWEEN) for member in members), initial=self.start + len(FIRST))
        spans = {key: (at, at + len(member)) for key, at, member in zip(entries, starts, members, strict=False)}
        return Document(text, self.start, self.start + len(inner), dict(entries), spans)

    def _with_entry(self, key: str, entries: Mapping[str, Any]) -> Document:
        """Return the document with one entry written anew where it stands: what a change costs with many projects."""
        start, end = self.spans[key]
        member = self._member_text(key, entries[key])
        longer = len(member) - (end - start)
        spans = {
            name: (begin, stop) if begin < start else (begin + longer, stop + longer)
            for name, (begin, stop) in self.spans.items()
        }
        spans[key] = (start, end + longer)
        text = self.text[:start] + member + self.text[end:]
        return Document(text, self.start, self.end + longer, dict(entries), spans)

    def _member_text(self, key: str, entry: object) -> str:
        if key in self.spans and self.entries[key] is entry:
            start, end = self.spans[key]
            return self.text[start:end]
        return f"{_dump(key)}: " + _dump(entry, indent=2).replace("\n", ENTRY_BREAK)


def parse(content: bytes, name: str) -> Document:
    """Read the registry's text; ``name`` is the file's for the message.

    Raises:
        StateCorrupt: it is not JSON (line and column), or it is something else than a registry (the key's path).
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise _unreadable(name, "not UTF-8", line, column) from error
    try:
        return _walk(text, name)
    except json.JSONDecodeError as error:
        raise _unreadable(name, error.msg, error.lineno, error.colno) from error
    except (ValueError, RecursionError) as error:
        raise StateCorrupt(f"{name} cannot be read: {error}; mend it by hand, it is left as it is") from error


def misshapen(name: str, path: str, wanted: str, found: object) -> StateCorrupt:
    """Return the error for a value of another form than a registry has there."""
    shown = "nothing" if found is None else f"{type(found).__name__} {str(found)[:60]!r}"
    return StateCorrupt(f"{name}: {path} should be {wanted}, found {shown}; mend it by hand, it is left as it is")


def _unreadable(name: str, what: str, line: int, column: int) -> StateCorrupt:
    return StateCorrupt(
        f"{name} is not readable JSON at line {line}, column {column}: {what}; mend it by hand, it is left as it is"
    )


def _walk(text: str, name: str) -> Document:
    inner: dict[str, Member] = {}

    def value_at(key: str, at: int) -> tuple[Any, int]:
        if key != "projects" or text[at : at + 1] != "{":
            return DECODER.raw_decode(text, at)
        members, end = _members(text, at, lambda _key, start: DECODER.raw_decode(text, start))
        inner.clear()
        inner.update(members)
        return {}, end

    begin = _skip(text, 0)
    if text[begin : begin + 1] != "{":
        raise misshapen(name, "the file", "an object", DECODER.raw_decode(text, begin)[0])
    members, end = _members(text, begin, value_at)
    if _skip(text, end) != len(text):
        raise json.JSONDecodeError("Extra data", text, _skip(text, end))
    projects = members.get("projects")
    if projects is None or not isinstance(projects.value, dict):
        raise misshapen(name, "projects", "an object", projects and projects.value)
    spans = {key: (member.key_start, member.end) for key, member in inner.items()}
    return Document(text, projects.start, projects.end, {key: member.value for key, member in inner.items()}, spans)


def _members(text: str, at: int, value_at: Callable[[str, int], tuple[Any, int]]) -> tuple[dict[str, Member], int]:
    """Read the object that begins at ``at``; of a repeated key the last one counts, as json does it."""
    members: dict[str, Member] = {}
    at = _skip(text, at + 1)
    if text[at : at + 1] == "}":
        return members, at + 1
    while True:
        if text[at : at + 1] != '"':
            raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
        key_start = at
        key, at = scanstring(text, at + 1, True)
        at = _skip(text, at)
        if text[at : at + 1] != ":":
            raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
        start = _skip(text, at + 1)
        value, end = value_at(key, start)
        members[key] = Member(value, key_start, start, end)
        at = _skip(text, end)
        if text[at : at + 1] == "}":
            return members, at + 1
        if text[at : at + 1] != ",":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    if text[at : at + 1] not in BLANKS:
        return at
    end: int = WHITESPACE.match(text, at).end()
    return end


def _dump(value: object, *, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
