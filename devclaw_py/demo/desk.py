"""Where a worker of the demo works, as DEV and QA use it, and the one that a program has."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from devclaw_py.demo.repository import SuiteRun, run_tests, run_tests_of
from devclaw_py.demo.story import Edit
from devclaw_py.kernel import files
from devclaw_py.model.pipeline import Result
from devclaw_py.rules.cleaning import clean
from devclaw_py.work.command import Git


@dataclass(frozen=True)
class Verdict:
    """What a worker will report."""

    result: Result
    summary: str

    def fields(self) -> dict[str, str]:
        """Return the report's first fields."""
        return {"result": self.result.value, "summary": self.summary}


class Lost(Exception):
    """The story has no next step here; a person must look."""


class Desk(Protocol):
    """What a worker can do in its worktree. Git that refuses is a `RepositoryError`."""

    def step(self, text: str) -> None:
        """Say what is done next, slowly enough for a person."""
        ...

    def run(self, *arguments: str) -> str:
        """Run git, and return what it said."""
        ...

    def edit(self, edit: Edit) -> None:
        """Change a file; `Lost` when it is not as the story left it."""
        ...

    def tests(self, names: Sequence[str] = ()) -> SuiteRun:
        """Run the repository's tests, all or those named."""
        ...

    def tests_of(self, commit: str, names: Sequence[str]) -> SuiteRun:
        """Run tests as another commit has them."""
        ...


@dataclass(frozen=True)
class ShellDesk:
    """Implements `Desk` for a program in a terminal.

    ``pause_s`` is waited before each step, so that a person can follow.
    """

    folder: Path
    git: Git
    environ: Mapping[str, str] = field(repr=False)
    pause_s: float = 0.0

    def say(self, text: str) -> None:
        """Write to the terminal in which the worker lives."""
        sys.stdout.write(clean(text) + "\n")
        sys.stdout.flush()

    def step(self, text: str) -> None:
        """Wait for the eyes of a person, then say what is done next."""
        time.sleep(self.pause_s)
        self.say(text)

    def run(self, *arguments: str) -> str:
        """Run git in the worktree, show it, and return what it said."""
        self.say(f"$ git {' '.join(arguments)}")
        said = self.git.run(self.folder, *arguments, asked=f"git {arguments[0]}").out.strip()
        if said:
            self.say(said)
        return said

    def edit(self, edit: Edit) -> None:
        """Write the file.

        Raises:
            Lost: it is not as the story left it.
        """
        path = self.folder / edit.path
        files.folder(path.parent)
        files.write(path, _edited(edit, files.read(path)).encode())

    def tests(self, names: Sequence[str] = ()) -> SuiteRun:
        """Run the repository's tests as its README says, and show what they say."""
        self.step(f"$ python3 -m unittest {' '.join(names)}".rstrip())
        tested = run_tests(self.folder, names, environ=self.environ)
        self.say(tested.output)
        return tested

    def tests_of(self, commit: str, names: Sequence[str]) -> SuiteRun:
        """Run tests as another commit has them, in a copy outside the repository."""
        self.step(f"$ python3 -m unittest {' '.join(names)}  # in a copy of {commit}")
        tested = run_tests_of(self.git, self.folder, commit, names, environ=self.environ)
        self.say(tested.words)
        return tested


def _edited(edit: Edit, before: bytes | None) -> str:
    if not edit.old:
        if before is not None:
            raise Lost(f"{edit.path} should be new and exists")
        return edit.new
    text = (before or b"").decode()
    if text.count(edit.old) != 1:
        raise Lost(f"{edit.path} has {edit.old!r} {text.count(edit.old)} times instead of once")
    return text.replace(edit.old, edit.new)
