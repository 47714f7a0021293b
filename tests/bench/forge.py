"""Moves, pickups and polls on an emulated GitHub, beside the same requests made by a `gh` process each."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from devclaw_py.app import open_app
from devclaw_py.demo.hub import publish
from devclaw_py.demo.repository import make_repository
from devclaw_py.kernel import files, proc
from devclaw_py.model.pipeline import Provider, State
from devclaw_py.model.project import Project
from devclaw_py.model.settings import GitHubSettings
from devclaw_py.trackers import move
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.trackers.forge.poll import MANAGED
from tests.bench.measure import Row, Scale, ms_of
from tests.bench.office import Office, office
from tests.forge.emulated import Emulator

EMULATE, GH = "DEVCLAW_EMULATE_BIN", "DEVCLAW_GH_BIN"
GROUP, NAME, DEV = "-1001", "shop", "shop-dev-medior"
COUNT = "requests (a count)"
ANSWERED = "of these with an answer other than 304, which count (a count)"
BY_GH = "the same requests, each by a `gh api` process"
BARE = "the same requests sent bare: what the emulated GitHub and the proxy take"
ON = "on an emulated GitHub on this machine"


@dataclass(frozen=True)
class Hub:
    """The emulated GitHub, an office that works on it, and the `gh` of this machine, if there is one."""

    emulator: Emulator
    office: Office
    gh: str | None

    def lines(self) -> list[tuple[str, bytes]]:
        """Return the requests since the last time, with their bodies."""
        found = list(self.emulator.proxy.bodies)
        self.emulator.proxy.log.clear()
        self.emulator.proxy.bodies.clear()
        return found

    def beside(self, row: Row, number: int, state: State) -> None:
        """Measure the requests since the last time again, bare and by `gh`, each time from the issue's ``state`` on."""
        asked = self.lines()
        row.compared.setdefault(COUNT, []).append(float(len(asked)))
        self.stand(number, state)
        row.compared.setdefault(BARE, []).append(ms_of(lambda: self._bare(asked)))
        if self.gh is not None:
            self.stand(number, state)
            row.compared.setdefault(BY_GH, []).append(ms_of(lambda: self._by_gh(asked)))

    def stand(self, number: int, state: State) -> None:
        """Let a human give the issue its state."""
        path = self.office.app.store.registry.get(GROUP).forge
        assert path is not None
        labels = {"labels": [state.value, MANAGED]}
        self.emulator.proxy.human("PUT", f"/repos/{path.path}/issues/{number}/labels", labels)

    def _bare(self, asked: Sequence[tuple[str, bytes]]) -> None:
        connection = HTTPConnection("127.0.0.1", self.emulator.proxy.port, timeout=60)
        for line, body in asked:
            method, target = line.split(" ", 1)
            connection.request(method, target, body or None, {"Authorization": "token tok_bot"})
            answer = connection.getresponse()
            answer.read()
            if answer.status >= 400:
                raise RuntimeError(f"{line} sent again is {answer.status}")
        connection.close()

    def _by_gh(self, asked: Sequence[tuple[str, bytes]]) -> None:
        folder = str(self.office.folder)
        # To this name alone gh speaks without TLS.
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": folder, "GH_CONFIG_DIR": folder}
        env |= {"GH_HOST": "github.localhost", "GH_ENTERPRISE_TOKEN": "tok_bot", "GH_TOKEN": "tok_bot"}
        env |= {"HTTP_PROXY": self.emulator.proxy.url}
        for line, body in asked:
            method, target = line.split(" ", 1)
            sent = self.office.folder / "body.json"
            sent.write_bytes(body)
            words = [str(self.gh), "api", "-X", method, target.removeprefix("/api/v3").lstrip("/")]
            done = proc.run([*words, *(["--input", str(sent)] if body else [])], timeout_s=60, env=env)
            if done.code:
                raise RuntimeError(f"gh api, {line}: {done.err}")


def emulate() -> str | None:
    """Return the program that plays GitHub, or None."""
    return os.environ.get(EMULATE) or None


def gh() -> str | None:
    """Return the `gh` to compare with, or None."""
    return os.environ.get(GH) or shutil.which("gh")


def rows(scale: Scale) -> list[Row]:
    """Measure where there is an emulated GitHub."""
    if emulate() is None:
        return []
    with _hub() as hub:
        return [_moves(hub, scale), _pickups(hub, scale), *_polls(hub, scale)]


@contextmanager
def _hub() -> Iterator[Hub]:
    with tempfile.TemporaryDirectory(prefix="devclaw-bench-") as name:
        emulator = Emulator(Path(name))
        try:
            token = Path(name) / "github.token"
            files.write(token, b"tok_bot", mode=files.PRIVATE)
            settings = GitHubSettings(
                hosts=(emulator.proxy.url,),
                token_file=str(token),
                writes_per_minute=100_000,
                writes_per_hour=1_000_000,
            )
            with office(github=settings) as found:
                hub = Hub(emulator, found, gh())
                _register(hub)
                yield hub
        finally:
            emulator.stop()


def _register(hub: Hub) -> None:
    forge, folder = hub.emulator.repository(), hub.office.folder
    make_repository(folder / NAME)
    publish(folder / NAME, folder / "remote.git")
    hub.emulator.proxy.stand_behind(forge.path, folder / "remote.git")
    hub.office.call(
        "project_register", projectGroupId=GROUP, name=NAME, repo=str(folder / NAME), baseBranch="main",
        provider="github", remote=f"{hub.emulator.proxy.url}/{forge.path}.git",
    )  # fmt: skip


def _create(hub: Hub, title: str) -> int:
    made = hub.office.call("task_create", projectGroupId=GROUP, title=title, label="To Do")
    number: int = made["issue"]["id"]
    return number


def _moves(hub: Hub, scale: Scale) -> Row:
    row = Row("forge_move", f"one label move {ON}, in a process that has asked before", compared={COUNT: [], BARE: []})
    number = _create(hub, "To and fro")
    tracker = hub.office.app.open_tracker(hub.office.app.store.registry.get(GROUP))
    source, target = State.TO_DO, State.PLANNING
    for turn in range(scale.repeats + 1):
        hub.lines()
        took = ms_of(lambda: _move(tracker, number, source, target))  # noqa: B023 - called at once
        if turn:  # the first one connects
            row.values.append(took)
            hub.beside(row, number, source)
        source, target = target, source
    return row


def _move(tracker: IssueProvider, number: int, source: State, target: State) -> None:
    move.take(tracker, number, source)
    move.put(tracker, number, target, source=source)


def _pickups(hub: Hub, scale: Scale) -> Row:
    row = Row("forge_pickup", f"a whole task_pickup {ON}, warm", compared={COUNT: [], BARE: []})
    for turn in range(scale.rounds + 1):
        number = _create(hub, f"Add footer {turn}")
        hub.lines()
        pickup = {"projectGroupId": GROUP, "role": "dev", "model": "medior", "issueId": number}
        took = ms_of(lambda: hub.office.call("task_pickup", **pickup))  # noqa: B023 - called at once
        if turn:  # the first one starts the session
            row.values.append(took)
            hub.beside(row, number, State.TO_DO)
        hub.office.wait_idle(DEV)
        hub.office.call("task_complete", projectGroupId=GROUP, role="dev", result="blocked", summary="Measured")
    return row


def _polls(hub: Hub, scale: Scale) -> list[Row]:
    projects = [_polled(hub, number) for number in range(scale.polled)]
    what = f"one look at each of {scale.polled} projects {ON}, in a new `App`"
    idle = Row("forge_poll_idle", f"{what}: nothing has changed", compared={COUNT: [], ANSWERED: []})
    busy = Row("forge_poll_busy", f"{what}: an issue of each has changed", compared={COUNT: [], ANSWERED: []})
    _poll(hub, projects)  # reads everything
    for turn in range(max(2, scale.repeats // 12)):
        _poll(hub, projects, idle)
        for project in projects:
            assert project.forge is not None
            path = f"/repos/{project.forge.path}/issues/1"
            hub.emulator.proxy.human("PATCH", path, {"body": f"Changed {turn}"})
        _poll(hub, projects, busy)
    return [idle, busy]


def _polled(hub: Hub, number: int) -> Project:
    forge, proxy = hub.emulator.repository(), hub.emulator.proxy
    issue = {"title": "Add a footer", "labels": [State.TO_DO.value, MANAGED]}
    proxy.human("POST", f"/repos/{forge.path}/issues", issue)
    at = forge.model_copy(update={"api": f"{proxy.url}/api/v3"})
    return Project(group_id=str(-2000 - number), name=f"shop-{number}", repo="", provider=Provider.GITHUB, forge=at)


def _poll(hub: Hub, projects: Sequence[Project], row: Row | None = None) -> None:
    app = open_app(hub.office.folder, hub.office.app.settings, environ=hub.office.environ)
    hub.lines()
    took = ms_of(lambda: [app.open_tracker(project).pulse() for project in projects])
    statuses = [status for _, status in hub.emulator.proxy.log]
    if row is not None:
        row.values.append(took)
        row.compared[COUNT].append(float(len(statuses)))
        row.compared[ANSWERED].append(float(sum(status != 304 for status in statuses)))
