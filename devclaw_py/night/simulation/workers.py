"""The workers of the night: each accepts what is offered, works for a while, and reports, or does not.

What becomes of an attempt is drawn from the seed and the attempt alone, so a change elsewhere leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any

from devclaw_py.model.caller import Caller, CallerKind
from devclaw_py.model.following import End, Ended
from devclaw_py.model.pipeline import Result, Role, Tier
from devclaw_py.night.simulation.ledger import Given, Said
from devclaw_py.night.simulation.script import WorkerScript

if TYPE_CHECKING:
    from devclaw_py.night.simulation.world import World

# Between a report and the end of the turn that made it.
LAST_WORDS_S = 4.0
AGAIN_S = 60.0
DEAF_S = 20 * 60.0
MOST_TRIES = 40
STOP = "stop working"


@dataclass
class Task:
    """What a session works on. ``turn`` counts its turns: what was planned for an earlier one does not happen."""

    given: Given
    random: Random
    good: bool
    turn: int = 0
    working: bool = False
    over: bool = False
    tries: int = 0

    @property
    def offer(self) -> str:
        """The name of its offer."""
        return f"{self.given.issue}.{self.given.attempt}"


class Cast:
    """All workers. `plays` says whether a session works on a task at this moment.

    With ``hears`` none becomes deaf any more.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.tasks: dict[str, Task] = {}
        self.limited_until: datetime | None = None
        self.hears = False
        agent = world.agent
        agent.resumes = True
        agent.work, agent.told, agent.stopped = self._accepted, self._told, self._stopped
        agent.talks = True

    def plays(self, session: str) -> Task | None:
        """Return the task that a session works on now, if it lives and is at work."""
        task = self.tasks.get(session)
        return task if task is not None and task.working and self._lives(task) else None

    def at_work(self) -> dict[str, Task]:
        """Return every session that works now."""
        return {session: task for session in self.tasks if (task := self.plays(session)) is not None}

    def dies(self, session: str, *, exit_code: int | None = 1) -> None:
        """Let a session's program end, whatever it does."""
        world, task = self._world, self.tasks.get(session)
        pane = world.terminal.panes.get(session)
        if pane is None or not pane.session.alive:
            return
        world.terminal.kill(session, exit_code=exit_code)
        world.ledger.deaths += 1
        self._rests(session)
        if task is not None:
            task.turn += 1
            if task.random.random() >= self._script(task).resumes:
                world.agent.forgetful.add(session)

    def reports_now(self, session: str) -> None:
        """Let a worker that is at work report at once, and end its turn."""
        task = self.plays(session)
        if task is not None:
            self._reports(task, task.turn, self._verdict(task))
            self._finishes(task)

    def _accepted(self, session: str, offer: str, message: str) -> None:
        world = self._world
        marks = world.terminal.panes[session].session.marks
        issue, attempt = (int(word) for word in offer.split("."))
        given = Given(
            group_id=world.group_of(marks["project"]),
            issue=issue,
            attempt=attempt,
            role=Role(marks["role"]),
            tier=Tier(marks["tier"]),
            session=session,
            at=world.clock.now(),
            pid=world.terminal.panes[session].session.pid,
        )
        world.watch.given(given)
        world.ledger.given.append(given)
        world.agent.forgetful.discard(session)
        random = Random(f"{world.script.night.seed}/{given.group_id}/{offer}")
        task = self.tasks[session] = Task(given, random, good=False)
        script = self._script(task)
        task.good = random.random() < script.success
        if random.random() < script.deaf and not self.hears:
            world.agent.deaf.add(session)
            world.clock.later(DEAF_S, "worker", lambda: world.agent.deaf.discard(session))
        self._turn(task)

    def _turn(self, task: Task) -> None:
        """Begin a turn, and settle how it will end."""
        world, script, session = self._world, self._script(task), task.given.session
        task.turn += 1
        task.working = True
        world.agent.working.add(session)
        shortest, longest = script.minutes
        share = 1.0 if task.turn == 1 else 0.3
        minutes = task.random.uniform(shortest, longest) * share
        world.ledger.usd += script.usd * share
        world.agent.spend(session, usd=script.usd * share)
        drawn, turn = task.random.random(), task.turn
        world.clock.later(minutes * 60, "worker", lambda: self._ends(task, turn, drawn))

    def _ends(self, task: Task, turn: int, drawn: float) -> None:
        if turn != task.turn or task.over or not self._lives(task):
            return
        script, limit = self._script(task), self.limited_until
        if limit is not None and self._world.clock.now() < limit:
            self._quiet(task, End.LIMITED, "usage limit reached", until=limit)
            return
        ends: list[tuple[float, Callable[[], None]]] = [
            (script.dies, lambda: self.dies(task.given.session)),
            (script.silent, lambda: self._quiet(task, End.QUIET, "its turn ended without a report")),
            (script.errors, lambda: self._quiet(task, End.FAILED, "API error: overloaded")),
            (script.stalls, lambda: self._stalls(task)),
            (script.blocked, lambda: self._reports(task, turn, Result.BLOCKED)),
            (1.0, lambda: self._reports(task, turn, self._verdict(task))),
        ]
        for share, end in ends:
            if drawn < share:
                end()
                return
            drawn -= share

    def _verdict(self, task: Task) -> Result:
        """Return what a worker thinks of its work, or of a developer's."""
        if task.given.role is Role.DEV:
            return Result.DONE
        made = self._world.work_deserves_to_pass(task.given.group_id, task.given.issue)
        return Result.PASS if made is task.good else Result.FAIL

    def _quiet(self, task: Task, how: End, words: str, *, until: datetime | None = None) -> None:
        now, session = self._world.clock.now(), task.given.session
        self._rests(session)
        key = f"{task.offer}/{task.turn}"
        self._world.agent.ends[task.offer] = Ended(how=how, key=key, at=now, words=words, until=until)
        self._world.ledger.ends[how.value] += 1

    def _stalls(self, task: Task) -> None:
        self._world.agent.quiet[task.given.session] = self._world.clock.now()
        self._world.ledger.ends["stalled"] += 1

    def _stopped(self, session: str) -> None:
        task = self.tasks.get(session)
        if task is not None:
            task.turn += 1
            self._quiet(task, End.BROKEN_OFF, "its turn was broken off")

    def _told(self, session: str, text: str) -> None:
        """Heed a notice: stop, or go on with what is not reported yet."""
        task = self.tasks.get(session)
        if task is None or task.over:
            return
        if STOP in text:
            if f"#{task.given.issue} " in text:
                self._finishes(task)
        elif not task.working and self._lives(task, anew=True):
            task.given.pid = self._pid(session)
            if task.random.random() < self._script(task).heeds:
                self._turn(task)
            else:
                task.turn += 1
                turn = task.turn
                self._world.clock.later(AGAIN_S, "worker", lambda: self._still_silent(task, turn))

    def _still_silent(self, task: Task, turn: int) -> None:
        if turn == task.turn and not task.over and self._lives(task):
            self._quiet(task, End.QUIET, "its turn ended without a report")

    def _reports(self, task: Task, turn: int, result: Result) -> None:
        """Report, and again when the call did not come through."""
        if turn != task.turn or task.over or not self._lives(task):
            return
        world, given = self._world, task.given
        if task.tries == 0 and result is Result.DONE:
            world.commits(given)
        key = (given.group_id, given.issue, given.attempt)
        summary = f"attempt {given.attempt} of {given.role} at #{given.issue} ends with {result}"
        said = world.ledger.said.setdefault(key, Said(*key, given.role, result, summary))
        task.tries += 1
        answer = world.process("a worker", lambda: world.call("task_complete", self._report(said), self._caller(task)))
        if answer is not None:
            said.answers.append(answer)
        if (answer is None or _may_help(answer)) and task.tries < MOST_TRIES:
            world.clock.later(AGAIN_S, "worker", lambda: self._reports(task, turn, said.result))
            return
        if task.random.random() < self._script(task).repeats:
            world.process("a worker", lambda: world.call("task_complete", self._report(said), self._caller(task)))
        world.clock.later(LAST_WORDS_S, "worker", lambda: self._rests_after(task, turn))

    def _rests_after(self, task: Task, turn: int) -> None:
        if turn == task.turn:
            self._finishes(task)
            self._world.ring()

    def _finishes(self, task: Task) -> None:
        task.over = True
        task.turn += 1
        if self.tasks.get(task.given.session) is task:
            self._rests(task.given.session)
            if self._lives(task):
                now = self._world.clock.now()
                key = f"{task.offer}/{task.turn}"
                self._world.agent.ends[task.offer] = Ended(how=End.QUIET, key=key, at=now, words="its turn ended")

    def _rests(self, session: str) -> None:
        agent, task = self._world.agent, self.tasks.get(session)
        agent.working.discard(session)
        agent.quiet.pop(session, None)
        if task is not None:
            task.working = False

    def _lives(self, task: Task, *, anew: bool = False) -> bool:
        """Whether the task's session lives; the process that accepted it, unless ``anew``."""
        pid = self._pid(task.given.session)
        return pid is not None and (anew or pid == task.given.pid)

    def _pid(self, session: str) -> int | None:
        pane = self._world.terminal.panes.get(session)
        return pane.session.pid if pane is not None and pane.session.alive else None

    def _script(self, task: Task) -> WorkerScript:
        return self._world.script.workers.of(task.given.tier)

    def _caller(self, task: Task) -> Caller:
        given = task.given
        bound = {"group_id": given.group_id, "session": given.session}
        return Caller(kind=CallerKind.WORKER, role=given.role, tier=given.tier, **bound)

    def _report(self, said: Said) -> dict[str, Any]:
        return {
            "projectGroupId": said.group_id,
            "role": said.role.value,
            "issueId": said.issue,
            "attempt": said.attempt,
            "result": said.result.value,
            "summary": said.summary,
        }


def _may_help(answer: dict[str, Any]) -> bool:
    return not answer["success"] and bool(answer["error"].get("retryable"))
