"""A task from To Do to a report and a resume, by the Claude Code of this machine and without a token spent.

The API is the stand-in on loopback; HOME, workspace, repository and tmux server are made for it and removed again. It
is how a release of Claude Code that devclaw was never tried with is met.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devclaw_py import catalogue
from devclaw_py.agents.claude import checkup, events, launch
from devclaw_py.agents.standin.household import ENV_FILE, furnish
from devclaw_py.agents.standin.server import StandIn
from devclaw_py.app import App, open_app
from devclaw_py.errors import ConfigError, DevClawError, SessionError
from devclaw_py.kernel import files
from devclaw_py.kernel.clock import Clock, SystemClock
from devclaw_py.model.base import Value
from devclaw_py.model.caller import Caller, CallerKind
from devclaw_py.model.finding import Severity
from devclaw_py.model.pipeline import Role, SessionAction, State, Tier
from devclaw_py.model.settings import AgentSettings, LimitSettings, Settings, TimeoutSettings
from devclaw_py.rules.labels import states_in
from devclaw_py.work.command import Git

NAME, GROUP, BASE = "selftest", "selftest", "main"
SESSION = f"{NAME}-{Role.DEV}-{Tier.MEDIOR}"
ORCHESTRATOR = Caller(kind=CallerKind.ORCHESTRATOR, group_id=GROUP)
COMPLETE = "mcp__devclaw__task_complete"
STEP_S, GIT_S, POLL_S = 20.0, 10.0, 0.05


class Step(Value):
    """One step that was taken: how it went, what was seen, and how long it took; no time where none was measured."""

    name: str
    severity: Severity
    seen: str
    seconds: float | None = None


class NotSeen(DevClawError):
    """A step did not come to its end in time; the message says what was waited for."""

    code = "session_failed"
    exit_code = 4


@dataclass(frozen=True)
class Bench:
    """The private surroundings of one run."""

    app: App
    standin: StandIn
    clock: Clock

    @property
    def folder(self) -> Path:
        """The session's folder."""
        return self.app.sessions.folder(SESSION)

    def done(self, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - a tool's arguments are JSON
        """Call a tool that must succeed.

        Raises:
            NotSeen: it did not; has the tool's own words.
        """
        answer = catalogue.call(self.app, tool, {"projectGroupId": GROUP, **arguments}, ORCHESTRATOR)
        if not answer["success"]:
            raise NotSeen(f"{tool}: {answer['error']['message']}", hint=answer["error"].get("hint"))
        return answer

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Wait for a condition.

        Raises:
            NotSeen: it does not hold within STEP_S; ``what`` says what is missing, and the screen is told.
        """
        deadline = self.clock.monotonic() + STEP_S
        while not condition():
            if self.clock.monotonic() >= deadline:
                raise NotSeen(f"not within {STEP_S:g} s: {what}; the screen: {self._screen()}")
            self.clock.sleep(POLL_S)

    def create(self, issue: int) -> None:
        """Put an issue into the queue whose work is to be reported done at once."""
        report = {"result": "done", "summary": "the selftest's report", "issueId": issue, "attempt": 1}
        body = f"[[standin: tool {COMPLETE} {json.dumps(report)}]]"
        self.done("task_create", title=f"Selftest {issue}", description=body, label=State.TO_DO.value)

    def pick_up(self, issue: int) -> str:
        """Give the issue to the worker; return how its session was come by."""
        return str(
            self.done("task_pickup", issueId=issue, role=Role.DEV.value, model=Tier.MEDIOR.value)["sessionAction"]
        )

    def told(self, name: str, since: float) -> float:
        """Return when the newest event of a name came, in seconds after a time since 1970."""
        found = events.newest(events.read(self.folder, since=since), name)
        if found is None:
            raise NotSeen(f"Claude Code ran no hook for {name}", hint="a managed policy may forbid hooks")
        return max(0.0, found.at - since)

    def reported(self, issue: int) -> None:
        """Wait for the report of the worker to be carried out, and for the worker to rest."""
        tracker = self.app.open_tracker(self.app.store.registry.get(GROUP))
        moved = f"#{issue} is in {State.TO_TEST} by the worker's own task_complete"
        self.wait(lambda: states_in(tracker.get(issue).labels) == (State.TO_TEST,), moved)
        self.wait(lambda: self.app.sessions.look(SESSION).status.value == "idle", "the worker is idle again")

    def end(self) -> None:
        """Leave no process behind."""
        with suppress(SessionError):
            self.app.sessions.stop(SESSION)
            self.app.sessions.terminal.close()

    def _screen(self) -> str:
        with suppress(SessionError):
            return " | ".join(line for line in self.app.sessions.terminal.screen(SESSION).split("\n") if line.strip())
        return "nothing that could be read"


def selftest(agent: AgentSettings, environ: Mapping[str, str]) -> Iterator[Step]:
    """Yield each step when it is taken, one that failed as the last."""
    clock = SystemClock()
    try:
        program = launch.program(agent, environ.get("PATH"))
    except ConfigError as error:
        yield _failed("version", error)
        return
    version = checkup.version(program, environ)
    yield Step(name="version", severity=version.severity, seen=version.message)
    if version.severity is Severity.CRITICAL:
        return
    with tempfile.TemporaryDirectory(prefix="devclaw-selftest-", ignore_cleanup_errors=True) as made:
        folder = Path(made).resolve()
        with StandIn(folder=folder / "requests") as standin:
            yield from _played(folder, standin, program, environ, clock)


def _played(folder: Path, standin: StandIn, program: str, environ: Mapping[str, str], clock: Clock) -> Iterator[Step]:
    bench, at = Bench(_hands(folder, standin, program, environ), standin, clock), "start"
    try:
        _prepare(folder, bench)
        for step in _steps(bench):
            at = step.name
            yield step
    except DevClawError as error:
        yield _failed(f"after {at}" if at != "start" else at, error)
    finally:
        bench.end()


def _steps(bench: Bench) -> Iterator[Step]:
    begun = bench.clock.now().timestamp()
    bench.create(1)
    bench.pick_up(1)
    started, prompted = bench.told("SessionStart", begun), bench.told("UserPromptSubmit", begun)
    yield _good("start", started, "hooks run, no dialog stands in the way")
    yield _good("acceptance", prompted - started, "devclaw's tools connected; the task was typed and accepted once")

    line = bench.app.sessions.agent.line("1.1", bench.folder / "tasks" / "1.1.md")
    bench.wait(lambda: len(bench.standin.turns) >= 2, "Claude Code reads the task's file")
    prompts = {request.conversation.turn.prompt.strip() for request in bench.standin.turns}
    if prompts != {line}:
        raise NotSeen(f"the model was to be told {line!r} and was told {sorted(prompts)}")
    read = bench.clock.now().timestamp() - begun
    yield _good("turn", read - prompted, "the model was told exactly the task's line, and read its file")

    bench.reported(1)
    rested = bench.clock.now().timestamp() - begun
    yield _good("report", rested - read, "task_complete came through devclaw's MCP server and moved the issue")

    yield _resumed(bench)


def _resumed(bench: Bench) -> Step:
    begun = bench.clock.monotonic()
    bench.app.sessions.stop(SESSION)
    bench.create(2)
    action = bench.pick_up(2)
    bench.reported(2)
    conversations = {request.session for request in bench.standin.turns}
    if action != SessionAction.RESUME or len(conversations) != 1:
        raise NotSeen(f"the session was to be resumed: it was {action}, in {len(conversations)} conversations")
    return _good("resume", bench.clock.monotonic() - begun, "stopped and resumed: a second task, the same conversation")


def _hands(folder: Path, standin: StandIn, program: str, environ: Mapping[str, str]) -> App:
    """Make the private HOME and workspace, and return the workspace's hands."""
    workspace = files.private_folder(folder / "workspace")
    private = furnish(standin, home=folder / "home", workspace=workspace, environ=environ)
    settings = Settings(
        agent=AgentSettings(kind="claude", claude_bin=program, env_file=ENV_FILE),
        timeouts=TimeoutSettings(ready_s=STEP_S, receipt_s=STEP_S / 2),
        limits=LimitSettings(sessions=1),
    )
    return open_app(workspace, settings, environ=private)


def _prepare(folder: Path, bench: Bench) -> None:
    """Make a repository with one commit, and register it."""
    git, repository, asked = Git(GIT_S), files.folder(folder / NAME), "make the selftest's repository"
    git.run(repository, "init", "--quiet", "--template=", f"--initial-branch={BASE}", asked=asked)
    for key, value in {"user.name": NAME, "user.email": f"{NAME}@devclaw.invalid", "commit.gpgSign": "false"}.items():
        git.run(repository, "config", "--local", key, value, asked=asked)
    git.run(repository, "commit", "--quiet", "--allow-empty", "-m", "Begin", asked=asked)
    bench.done("project_register", name=NAME, repo=str(repository), baseBranch=BASE, provider="local")


def _good(name: str, seconds: float, seen: str) -> Step:
    return Step(name=name, severity=Severity.OK, seen=seen, seconds=round(max(0.0, seconds), 2))


def _failed(name: str, error: DevClawError) -> Step:
    hint = f"; {error.hint}" if error.hint else ""
    return Step(name=name, severity=Severity.CRITICAL, seen=f"{error}{hint}")
