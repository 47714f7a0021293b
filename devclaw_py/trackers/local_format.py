"""The form of ``<number>.md``: YAML front matter, then the body. Pure: bytes in, bytes out.

```
---
number: 7
title: Fix the login
state: open
labels: [To Do, bug]
assignees: []
created: '2026-02-08T10:30:00.000Z'
updated: '2026-02-08T10:30:00.000Z'
---

The body, from the second line after the fence to the last byte.
```

People write these files too, so reading is lenient: no front matter at all, keys left out, labels on one line with
commas, CRLF, a byte order mark. What was written is kept: the bytes after the closing fence stand on every write, and a
write replaces the blocks of the keys that change and no other, so unknown keys, comments and their order stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devclaw_py.errors import TrackerUnavailable
from devclaw_py.kernel.clock import timestamp
from devclaw_py.model.task import Task
from devclaw_py.rules.labels import distinct
from devclaw_py.trackers.text import one_line

if TYPE_CHECKING:
    # PyYAML is loaded with the first issue: `devclaw call` without one, or on another tracker, goes without.
    import yaml

BOM = b"\xef\xbb\xbf"
OPENING = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n")
CLOSING = re.compile(rb"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
FENCE = re.compile(rb"\A---[ \t]*(?:\r?\n|\Z)(?:\r?\n)?")
HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*?)[ \t#]*$", re.MULTILINE)
WIDE = 2**20
"""No folding: one key, one line."""

Field = str | tuple[str, ...] | None


class Unreadable(TrackerUnavailable):
    """An issue's file cannot be understood; the message names the file, the line and what to do."""

    def __init__(self, path: Path, line: int | None, problem: str) -> None:
        self.path, self.line, self.problem = path, line, problem
        place = str(path) if line is None else f"{path}, line {line}"
        super().__init__(f"{place}: {problem}; mend the file, nothing was changed", hint=f"edit {path}")


@dataclass(frozen=True)
class IssueFile:
    """What a file says: ``opening`` (mark and first fence), ``head`` (the YAML), ``tail`` (second fence and body).

    Without front matter ``head`` is None and ``tail`` is the body.
    """

    raw: bytes
    opening: bytes
    head: str | None
    tail: bytes
    task: Task
    saved: datetime

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, each name once."""
        return self.task.labels


def parse(raw: bytes, path: Path, *, number: int, written: datetime) -> IssueFile:
    """Read a file; ``written`` stands in where it holds no dates.

    Raises:
        Unreadable: it is empty, or its front matter is not closed, no YAML, or not of the form.
    """
    if not raw.strip():
        raise Unreadable(path, None, "the file is empty")
    opening, head, tail = _split(raw, path)
    fields = {} if head is None else _fields(head, path)
    body = (tail if head is None else FENCE.sub(b"", tail, count=1)).decode(errors="replace")
    task = Task(
        number=number,
        title=one_line(_text(fields, "title", path)) or _heading(body) or path.stem,
        url=path.as_uri(),
        body=body,
        labels=_names(fields, "labels"),
        closed=_closed(fields, path),
        assignees=_names(fields, "assignees"),
        created=_date(fields, "created", path) or written,
        updated=_date(fields, "updated", path) or written,
    )
    return IssueFile(raw=raw, opening=opening, head=head, tail=tail, task=task, saved=written)


def render(task: Task) -> bytes:
    """Return the file of a new issue."""
    head = {
        "number": task.number,
        "title": task.title,
        "state": _state(task.closed),
        "labels": list(task.labels),
        "assignees": list(task.assignees),
    }
    for key, at in (("created", task.created), ("updated", task.updated)):
        if at is not None:
            head[key] = timestamp(at)
    return _fenced(head, task.body.encode())


def edited(file: IssueFile, *, number: int, labels: tuple[str, ...], closed: bool, updated: datetime) -> bytes:
    """Return the file with other labels or another state, all else as it stands."""
    changes: dict[str, object] = {"updated": timestamp(updated)}
    if labels != file.labels:
        changes = {"labels": list(labels), **changes}
    if closed != file.task.closed:
        changes = {"state": _state(closed), **changes}
    if file.head is None:
        return file.opening + _fenced({"number": number, **changes}, file.tail)
    return file.opening + _replaced(file.head, changes).encode() + file.tail


def _split(raw: bytes, path: Path) -> tuple[bytes, str | None, bytes]:
    opening = OPENING.match(raw)
    if opening is None:
        mark = BOM if raw.startswith(BOM) else b""
        return mark, None, raw.removeprefix(mark)
    closing = CLOSING.search(raw, opening.end())
    if closing is None:
        raise Unreadable(path, 1, "the front matter is not closed by a line of ---")
    try:
        return opening[0], raw[opening.end() : closing.start()].decode(), raw[closing.start() :]
    except UnicodeDecodeError as error:
        line = raw[: opening.end() + error.start].count(b"\n") + 1
        raise Unreadable(path, line, "the front matter is not UTF-8") from error


@cache
def _loader() -> Any:  # noqa: ANN401 - one of two classes that share no base but object
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _compose(head: str, path: Path) -> yaml.MappingNode | None:
    import yaml

    try:
        node = yaml.compose(head, Loader=_loader())
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it is nested too deeply"
        raise Unreadable(path, mark and mark.line + 2, f"the front matter is not YAML: {problem}") from error
    if node is not None and not isinstance(node, yaml.MappingNode):
        raise Unreadable(path, 2, "the front matter is not a list of key: value")
    return node


def _fields(head: str, path: Path) -> dict[str, Field]:
    """Return the keys with their values as they are spelled: a title of ``1.10`` or ``yes`` is a text here."""
    node = _compose(head, path)
    return {} if node is None else {key.value: _field(key.value, value, path) for key, value in node.value}


def _field(key: str, node: yaml.Node, path: Path) -> Field:
    import yaml

    if isinstance(node, yaml.ScalarNode):
        return None if node.tag == "tag:yaml.org,2002:null" else str(node.value)
    if isinstance(node, yaml.SequenceNode) and all(isinstance(item, yaml.ScalarNode) for item in node.value):
        return tuple(str(item.value) for item in node.value)
    if key in {"title", "state", "labels", "assignees", "created", "updated"}:
        raise Unreadable(path, node.start_mark.line + 2, f"{key} is neither a text nor a list of texts")
    return None


def _text(fields: Mapping[str, Field], key: str, path: Path) -> str:
    value = fields.get(key)
    if isinstance(value, tuple):
        raise Unreadable(path, None, f"{key} is a list")
    return value or ""


def _names(fields: Mapping[str, Field], key: str) -> tuple[str, ...]:
    value = fields.get(key) or ()
    items = value.split(",") if isinstance(value, str) else value
    return distinct(name for name in map(one_line, items) if name)


def _closed(fields: Mapping[str, Field], path: Path) -> bool:
    state = _text(fields, "state", path).strip().casefold() or "open"
    if state not in {"open", "closed"}:
        raise Unreadable(path, None, f"state is {state!r}, neither open nor closed")
    return state == "closed"


def _date(fields: Mapping[str, Field], key: str, path: Path) -> datetime | None:
    try:
        at = datetime.fromisoformat(_text(fields, key, path).strip())
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _heading(body: str) -> str:
    found = HEADING.search(body)
    return one_line(found[1]) if found else ""


def _state(closed: bool) -> str:
    return "closed" if closed else "open"


def _line(key: str, value: object, newline: str = "\n") -> str:
    import yaml

    # In a list of its own a value is dumped on one line, whatever it is.
    listed = yaml.safe_dump([value], allow_unicode=True, default_flow_style=True, width=WIDE)
    return f"{key}: {listed.strip()[1:-1]}{newline}"


def _fenced(fields: Mapping[str, object], body: bytes) -> bytes:
    head = "".join(_line(key, value) for key, value in fields.items())
    return f"---\n{head}---\n\n".encode() + body


def _replaced(head: str, changes: Mapping[str, object]) -> str:
    import yaml

    newline = "\r\n" if "\r\n" in head else "\n"
    node = yaml.compose(head, Loader=_loader())
    keys = [] if node is None else [(key.value, key.start_mark.index) for key, _ in node.value]
    if any(not _begins_line(head, index) for _, index in keys):
        # Not one key a line, such as {title: x}: the YAML is kept as a value, its form is not.
        return yaml.safe_dump({**yaml.safe_load(head), **changes}, sort_keys=False, allow_unicode=True, width=WIDE)
    starts = [index for _, index in keys] + [len(head)]
    blocks = [head[: starts[0]]]
    for (key, start), end in zip(keys, starts[1:], strict=True):
        block = head[start:end]
        blocks.append(_line(key, changes[key], newline) + _remarks(block) if key in changes else block)
    missing = [_line(key, value, newline) for key, value in changes.items() if key not in dict(keys)]
    return "".join([*blocks, *missing])


def _begins_line(text: str, index: int) -> bool:
    return index == 0 or text[index - 1] == "\n"


def _remarks(block: str) -> str:
    """Return the comments and blank lines that end a block: they belong to what follows."""
    lines = block.splitlines(keepends=True)
    first = len(lines)
    while first > 1 and (not lines[first - 1].strip() or lines[first - 1].lstrip().startswith("#")):
        first -= 1
    return "".join(lines[first:])
