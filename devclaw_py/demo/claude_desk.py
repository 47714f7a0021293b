"""The demo's desk in the hands of Claude Code: what DEV and QA want done becomes the model's tool calls.

A model is asked anew for each of its messages, with the whole conversation. So the work is done again from its
beginning each time: what was called already is answered from the conversation, and the first call that was not is what
the model says next.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from devclaw_py.agents.standin.script import Answer, Call, Reply, ToolResult
from devclaw_py.demo.desk import Lost
from devclaw_py.demo.repository import SuiteRun, suite_run
from devclaw_py.demo.story import Edit
from devclaw_py.errors import RepositoryError
from devclaw_py.rules.cleaning import clean

TESTS = "python3 -m unittest"
# What Claude Code puts before each line of a file that it reads.
NUMBERED = re.compile(r"^ *\d+(?:\t|→)(.*)$", re.MULTILINE)
GREEN = re.compile(r"^OK\b", re.MULTILINE)


class Next(Exception):
    """The work cannot go on before the model has said something; ``answer`` is what."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        super().__init__("a message of the model is due")


@dataclass
class ToolDesk:
    """Implements `Desk`; paths are below ``worktree``. ``pause_s`` passes before each step.

    Each of its methods raises `Next` where the conversation, ``replies``, has no answer to its call yet.
    """

    replies: Sequence[Reply]
    pause_s: float = 0.0
    worktree: str = ""
    _made: int = field(default=0, init=False)
    _words: list[str] = field(default_factory=list, init=False)
    _delay_s: float = field(default=0.0, init=False)

    def step(self, text: str) -> None:
        """Say what is done next, in the message that does it."""
        self._words.append(clean(text))
        self._delay_s = self.pause_s

    def run(self, *arguments: str) -> str:
        """Run git by Bash.

        Raises:
            RepositoryError: it refused.
        """
        result = self.call("Bash", command=shlex.join(("git", *arguments)))
        if result.is_error:
            raise RepositoryError(f"git {' '.join(arguments)}: {result.text.strip()}")
        return result.text.strip()

    def edit(self, edit: Edit) -> None:
        """Write a new file, or read and edit one.

        Raises:
            Lost: Claude Code refused, since the file is not as the story left it.
        """
        path = f"{self.worktree}/{edit.path}"
        if edit.old:
            self.read(path)
            done = self.call("Edit", file_path=path, old_string=edit.old, new_string=edit.new)
        else:
            done = self.call("Write", file_path=path, content=edit.new)
        if done.is_error:
            raise Lost(f"{edit.path} cannot be edited: {done.text.strip()}")

    def tests(self, names: Sequence[str] = ()) -> SuiteRun:
        """Run the repository's tests by Bash."""
        return self._tested(_command(names))

    def tests_of(self, commit: str, names: Sequence[str]) -> SuiteRun:
        """Run tests with another commit checked out, and go back."""
        there = shlex.join(("git", "checkout", "--quiet", "--detach", commit))
        return self._tested(f"{there} && {_command(names)}; git checkout --quiet -")

    def read(self, path: str) -> str:
        """Return a file's text.

        Raises:
            Lost: it cannot be read.
        """
        done = self.call("Read", file_path=path)
        if done.is_error:
            raise Lost(f"{path} cannot be read: {done.text.strip()}")
        return "\n".join(NUMBERED.findall(done.text))

    def call(self, tool: str, *, after_s: float = 0.0, **arguments: Any) -> ToolResult:  # noqa: ANN401 - JSON
        """Return what a tool brought back; it is called ``after_s`` seconds after the last one.

        Raises:
            Lost: the call was broken off.
        """
        if self._made == len(self.replies):
            delay_s = max(after_s, self._delay_s)
            raise Next(Answer(text="\n".join(self._words), calls=(Call(tool, arguments),), delay_s=delay_s))
        results = self.replies[self._made].results
        self._made += 1
        self._words.clear()
        self._delay_s = 0.0
        if len(results) != 1:
            raise Lost(f"the call of {tool} was broken off")
        return results[0]

    def _tested(self, command: str) -> SuiteRun:
        result = self.call("Bash", command=command)
        return suite_run(result.text, passed=GREEN.search(result.text) is not None and not result.is_error)


def _command(names: Sequence[str]) -> str:
    return " ".join((TESTS, *map(shlex.quote, names)))
