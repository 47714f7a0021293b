"""The demo's QA: its verdict is what the repository's tests say, and nothing else."""

from __future__ import annotations

from devclaw_py.demo.desk import Desk, Verdict
from devclaw_py.demo.message import Assignment
from devclaw_py.demo.repository import SuiteRun
from devclaw_py.demo.story import chapter_of
from devclaw_py.model.pipeline import Result


def work(desk: Desk, task: Assignment) -> Verdict:
    """Read the diff, run all tests, then those by which the issue is accepted.

    A test that is red on the base branch, too, is not this task's fault; it is told and does not count.
    """
    desk.step("what is there to test")
    desk.run("log", "--oneline", f"{task.base}..HEAD")
    desk.run("diff", "--stat", f"{task.base}...HEAD")

    every = desk.tests()
    if not every.passed and not every.red:
        return _failed("The tests cannot be run", every)
    old = set(desk.tests_of(task.base, every.red).red) if every.red else set()
    new = tuple(name for name in every.red if name not in old)
    if new:
        return _failed(f"{len(new)} of {every.count} tests broke", desk.tests(new))

    chapter = chapter_of(task.title)
    wanted = chapter.accepted_by if chapter else ()
    accepted = desk.tests(wanted)
    if not accepted.passed:
        return _failed("What the issue asks for is not there", accepted)
    before = f", red on {task.base} before: {', '.join(sorted(old))}" if old else ""
    return Verdict(Result.PASS, f"Ran all tests: {every.words}{before}; what the issue asks for passes.")


def _failed(what: str, tested: SuiteRun) -> Verdict:
    why = f" ({'; '.join(tested.errors)})" if tested.errors else ""
    return Verdict(Result.FAIL, f"{what}: {', '.join(tested.red)}{why}\n\n$ python3 -m unittest\n{tested.output}")
