"""What a program reads out of its task message, by the words that every agent reads."""

from __future__ import annotations

import re
from dataclasses import dataclass

from devclaw_py.model.pipeline import Role

HEAD = re.compile(r"(DEV|QA) task .* issue #(\d+), attempt (\d+)")
BASE = re.compile(r"^Base branch: (\S+)$", re.MULTILINE)
FENCE = re.compile(r"^The marks below carry the word (\S+)\. ", re.MULTILINE)
TEST = re.compile(r"^(?:FAIL|ERROR): \S+ \(([\w.]+)\)", re.MULTILINE)


class Unclear(Exception):
    """The message is not one that this program understands."""


@dataclass(frozen=True)
class Assignment:
    """A task as its message tells it. ``sent_back`` is QA's reason, None at a first attempt."""

    role: Role
    issue: int
    attempt: int
    base: str
    title: str
    sent_back: str | None


def read_message(text: str) -> Assignment:
    """Return what the message says.

    Text of other people is looked for between marks with the message's own word only, so a title that imitates a mark
    is not taken for one.

    Raises:
        Unclear: a part is missing.
    """
    first, _, rest = text.partition("\n")
    head, base, fence = HEAD.fullmatch(first), BASE.search(rest), FENCE.search(rest)
    if head is None or base is None or fence is None:
        raise Unclear(f"the task message begins with {first[:60]!r} and lacks its number, base branch or fence")
    asked = _between("ISSUE", fence[1], rest) or ""
    return Assignment(
        role=Role(head[1].lower()),
        issue=int(head[2]),
        attempt=int(head[3]),
        base=base[1],
        title=asked.partition("\n")[0].removeprefix("Title: "),
        sent_back=_between("QA", fence[1], rest),
    )


def failed_tests(output: str) -> tuple[str, ...]:
    """Return the tests that failed by unittest's own output, each once, in its order."""
    return tuple(dict.fromkeys(TEST.findall(output)))


def _between(kind: str, fence: str, text: str) -> str | None:
    found = re.search(
        rf"^<<<{kind} {re.escape(fence)}\n(.*?)\n{re.escape(fence)} {kind}>>>$", text, re.DOTALL | re.MULTILINE
    )
    return None if found is None else found[1]
