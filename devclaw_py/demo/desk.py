"""Where a worker of the demo works: its worktree, its git, and its terminal for those who look on."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devclaw_py.demo.repository import SuiteRun, run_tests, run_tests_of
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


@dataclass(frozen=True)
class Desk:
    """A worktree and its surroundings; ``pause_s`` is waited before each step, so that a person can follow."""

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
