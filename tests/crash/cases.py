"""The calls that are killed or failed, what stands before them, and what must hold after them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from devclaw_py import catalogue
from devclaw_py.errors import DevClawError
from devclaw_py.kernel.faults import FailPoints
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.pipeline import State
from devclaw_py.model.request import RequestState
from devclaw_py.operations.ending import failure
from devclaw_py.operations.recovery import settle
from devclaw_py.operations.removal import remove_project
from devclaw_py.operations.steps import Call
from devclaw_py.operations.wishes import carry_out, new_op
from devclaw_py.rules.labels import states_in
from devclaw_py.state.files import FilesStore
from devclaw_py.state.flush import flush_lines
from tests.conftest import GROUP, Office
from tests.crash.invariants import broken


class Killed(BaseException):
    """What SIGKILL is for a process."""


def kill() -> None:
    raise Killed


Act = Callable[[Office], dict[str, Any]]


def _pickup(office: Office) -> dict[str, Any]:
    return office.call("task_pickup", issueId=1, role="dev")


def _working_dev(office: Office) -> None:
    office.seed()
    office.done("task_pickup", issueId=1, role="dev")
    office.work.repo(office.app.store.registry.get(GROUP)).commit("devclaw/1-add-a-footer")


def _worked(office: Office, *, used: float) -> None:
    """Have the session of dev's next task at rest, with a conversation of which so much is used."""
    office.agent.used["shop-dev-medior"] = 0.0
    office.seed("Second")
    office.seed("First")
    office.done("task_pickup", issueId=2, role="dev", model="medior")
    office.done("task_complete", role="dev", result="blocked", summary="no")
    office.agent.used["shop-dev-medior"] = used


def _pickup_medior(office: Office) -> dict[str, Any]:
    return office.call("task_pickup", issueId=1, role="dev", model="medior")


def _counted_dev(office: Office) -> None:
    office.agent.used["shop-dev-medior"] = 0.0
    office.seed()
    office.done("task_pickup", issueId=1, role="dev", model="medior")


def _tested(office: Office) -> None:
    _working_dev(office)
    office.done("task_complete", role="dev", result="done", summary="made")


def _forge_dev(office: Office) -> None:
    office.on_forge()
    _working_dev(office)


def _forge_qa(office: Office) -> None:
    office.on_forge()
    _working_qa(office)


def _chained_qa(office: Office) -> None:
    _working_qa(office)
    office.done("project_update", autoChain=True)


def _working_qa(office: Office) -> None:
    _tested(office)
    office.done("task_pickup", issueId=1, role="qa")


def _blocked(office: Office) -> None:
    _working_dev(office)
    office.done("task_complete", role="dev", result="blocked", summary="no")


def _remove(office: Office) -> dict[str, Any]:
    """Remove the project as the command line does, which catches what is raised on purpose and reports bugs."""
    call = Call(op=new_op(), tool="project_remove", caller=HUMAN, at=office.clock.now())
    try:
        return remove_project(office.app, call, group_id=GROUP, force=False)
    except (DevClawError, OSError) as error:
        return failure(error)


def _two_labels(office: Office) -> None:
    office.tracker.seed("Odd", labels=["To Do", "Planning"])


def _fresh(office: Office) -> None:
    office.app.store.registry.remove(GROUP)


@dataclass(frozen=True)
class Case:
    """One call: the kind of its operation, what stands before it, and the call itself."""

    kind: str
    before: Callable[[Office], object]
    act: Act

    def settle(self, office: Office) -> None:
        """Do what follows a crash: ``devclaw recover``, and what stood odd before is looked at again."""
        recover(office)
        if self.kind == "health":
            self.act(office)


def _report(role: str, result: str) -> Act:
    return lambda office: office.call("task_complete", role=role, result=result, summary="seen")


CASES: dict[str, Case] = {
    "pickup-dev": Case("pickup", lambda office: office.seed(), _pickup),
    "pickup-qa": Case("pickup", _tested, lambda office: office.call("task_pickup", issueId=1, role="qa")),
    "pickup-compact": Case("pickup", lambda office: _worked(office, used=0.7), _pickup_medior),
    "pickup-fresh": Case("pickup", lambda office: _worked(office, used=0.9), _pickup_medior),
    "counted": Case("complete", _counted_dev, _report("dev", "done")),
    "done": Case("complete", _working_dev, _report("dev", "done")),
    "blocked": Case("complete", _working_dev, _report("dev", "blocked")),
    "pass": Case("complete", _working_qa, _report("qa", "pass")),
    "fail": Case("complete", _working_qa, _report("qa", "fail")),
    "chained-fail": Case("complete", _chained_qa, _report("qa", "fail")),
    "forge-done": Case("complete", _forge_dev, _report("dev", "done")),
    "forge-pass": Case("complete", _forge_qa, _report("qa", "pass")),
    "create": Case("create", lambda office: None, lambda office: office.call("task_create", title="New", label="Done")),
    "create-pickup": Case(
        "create", lambda office: None, lambda office: office.call("task_create", title="New", pickup=True)
    ),
    "comment": Case(
        "comment", lambda office: office.seed(), lambda office: office.call("task_comment", issueId=1, body="hi")
    ),
    "update": Case(
        "update",
        _working_dev,
        lambda office: office.call("task_update", issueId=1, state="Planning", reason="later"),
    ),
    "update-done": Case(
        "update", lambda office: office.seed(), lambda office: office.call("task_update", issueId=1, state="Done")
    ),
    "register": Case(
        "register",
        _fresh,
        lambda office: office.call("project_register", name="shop", repo=_repo(office), baseBranch="main"),
    ),
    "setup": Case(
        "setup",
        lambda office: None,
        lambda office: catalogue.call(office.app, "devclaw_setup", {"models": {"junior": "anthropic/x"}}, HUMAN),
    ),
    "change": Case("change", lambda office: None, lambda office: office.call("project_update", autoChain=True)),
    "remove": Case("remove", _blocked, _remove),
    "health": Case("health", _two_labels, lambda office: office.call("session_health", autoFix=True)),
}


def _repo(office: Office) -> str:
    return str(office.app.workspace / "shop")


def restarted(office: Office) -> Office:
    """Return the office with new hands over the same outside world, as the next process has."""
    store = FilesStore(office.app.workspace, office.clock, office.app.settings)
    return replace(office, app=replace(office.app, faults=FailPoints(), store=store))


def recover(office: Office) -> None:
    """Do what ``devclaw recover`` does."""
    for group_id in {GROUP, "", *(intent.group_id for intent in office.app.store.journal.intents())}:
        with office.app.store.hold(f"project:{group_id}", wait_s=1, holder="recover"):
            settle(office.app, group_id, force=True)
        carry_out(office.app, group_id)
    flush_lines(office.app.store)


def violations(office: Office) -> list[str]:
    store = office.app.store
    return _requests_broken(office) + broken(
        group=GROUP,
        registry=office.app.workspace / "memory" / "projects.json",
        tasks=office.tracker.list_all(),
        intents=store.journal.intents(),
        attempts=store.journal.attempts(GROUP),
        lines=[dict(line) for line in store.audit.read()],
        accepted=office.agent.received,
        tools=catalogue.TOOLS,
    )


def _requests_broken(office: Office) -> list[str]:
    """Return what does not hold of the requests on a forge: one a branch, merged where the task is Done."""
    if office.requests is None:
        return []
    task, wrong = office.tracker.get(1), []
    request = office.requests.find("devclaw/1-add-a-footer")
    if request is not None and request.number != 1:
        wrong.append(f"request #{request.number} was opened beside another")
    merged = request is not None and request.state is RequestState.MERGED
    if merged is not (State.DONE in states_in(task.labels)):
        wrong.append(f"#1 has {task.labels}, its request is {request}")
    if State.TO_TEST in states_in(task.labels) and request is None:
        wrong.append("#1 is to be tested and has no request")
    return wrong
