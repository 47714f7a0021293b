"""Whatever is thrown at the door gets the right code, a message that says what to do, and loses nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from devclaw_py import catalogue
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.pipeline import State
from tests.conftest import GROUP, Office, make_office

STRANGE: list[Any] = [
    True,
    -1,
    0,
    1.5,
    10**30,
    "",
    " ",
    "\x00",
    "\x1b[201~rm -rf /\n",
    "\ud800",
    "x" * 1_000_000,
    [],
    ["a"],
    {},
    {"a": {"b": []}},
    float("nan"),
    "../../etc",
    "🦀",
]
NEEDED: dict[str, dict[str, Any]] = {
    "task_pickup": {"role": "dev"},
    "task_complete": {"role": "dev", "result": "done"},
    "task_create": {"title": "More"},
    "task_update": {"issueId": 1, "state": "Planning"},
    "task_comment": {"issueId": 1, "body": "Hello"},
    "queue_status": {},
    "project_register": {"name": "blog", "repo": "/nowhere/blog", "baseBranch": "main"},
    "project_update": {},
    "devclaw_setup": {},
}
PARAMETERS = [
    (name, field.alias or key)
    for name, tool in catalogue.TOOLS.items()
    for key, field in tool.args.model_fields.items()
]


def raw(office: Office, tool: str, arguments: Any) -> dict[str, Any]:
    """Call a tool with exactly these arguments."""
    return catalogue.call(office.app, tool, cast("dict[str, Any]", arguments), HUMAN)


@pytest.mark.parametrize(("tool", "parameter"), PARAMETERS)
def test_no_value_of_any_parameter_is_a_bug(office: Office, tool: str, parameter: str) -> None:
    office.seed()
    for value in STRANGE:
        group = {} if tool == "devclaw_setup" else {"projectGroupId": GROUP}
        answer = raw(office, tool, {**group, **NEEDED.get(tool, {}), parameter: value})

        json.dumps(answer)
        if not answer["success"]:
            assert answer["error"]["code"] not in ("internal", "state_corrupt"), (str(value)[:60], answer)
            assert len(answer["error"]["message"]) < 2000, str(value)[:60]
    assert office.done("queue_status")["success"]


@pytest.mark.parametrize("tool", NEEDED)
def test_an_unknown_parameter_is_named_with_the_known_ones(office: Office, tool: str) -> None:
    before = office.snapshot()

    answer = raw(office, tool, {**NEEDED[tool], "banana": 1})

    assert answer["error"]["code"] == "invalid_arguments"
    assert "banana" in answer["error"]["message"]
    assert "parameters: " in answer["error"]["hint"]
    assert office.snapshot() == before


@pytest.mark.parametrize("arguments", [[], [1], "text", 5, None, True])
@pytest.mark.parametrize("tool", ["task_pickup", "queue_status"])
def test_arguments_that_are_no_object_are_refused(office: Office, tool: str, arguments: Any) -> None:
    assert raw(office, tool, arguments)["error"]["code"] == "invalid_arguments"


@pytest.mark.parametrize("name", ["banana", "", "x" * 100_000, "Task_Pickup", "\x00"])
def test_an_unknown_tool_is_refused_with_the_known_ones(office: Office, name: str) -> None:
    answer = office.call(name)

    assert answer["error"]["code"] == "invalid_arguments"
    assert "task_pickup" in answer["error"]["message"]
    assert len(answer["error"]["message"]) < 1000


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("task_pickup", {"role": "dev", "issueId": True}),
        ("task_complete", {"role": "dev", "result": "done", "issueId": 1, "attempt": True}),
        ("task_update", {"issueId": False, "state": "Planning"}),
        ("task_complete", {"role": "dev", "result": "done", "issueId": 1, "attempt": 0}),
        ("task_complete", {"role": "dev", "result": "done", "issueId": 1, "attempt": 10**30}),
        ("task_pickup", {"role": "dev", "issueId": 10**30}),
        ("task_pickup", {"role": "boss"}),
        ("task_create", {"title": 5}),
        ("task_create", {"title": "More", "assignees": "mia"}),
        ("project_update", {"autoChain": "perhaps"}),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(office: Office, tool: str, arguments: dict[str, Any]) -> None:
    office.doing()
    before = office.snapshot()

    assert office.refused(tool, **arguments) == "invalid_arguments"
    assert office.snapshot() == before


@pytest.mark.parametrize("number", ["1", "#1", " 1 "])
def test_an_issue_number_may_be_written_as_people_write_it(office: Office, number: str) -> None:
    office.seed()

    assert office.done("task_pickup", role="dev", issueId=number)["issueId"] == 1


def test_a_group_id_may_be_a_number(office: Office) -> None:
    assert raw(office, "queue_status", {"projectGroupId": -1001})["success"]


@pytest.mark.parametrize(
    ("tool", "parameter"),
    [("task_create", "description"), ("task_comment", "body"), ("task_update", "reason"), ("task_complete", "summary")],
)
def test_a_text_of_a_megabyte_is_refused_with_the_limit(office: Office, tool: str, parameter: str) -> None:
    office.doing()
    before = office.snapshot()

    answer = office.call(tool, **NEEDED[tool] | {parameter: "x" * 1_000_000})

    assert answer["error"]["code"] == "invalid_arguments"
    assert "65536" in answer["error"]["message"]
    assert office.snapshot() == before


def test_control_characters_do_not_reach_the_tracker(office: Office) -> None:
    evil = "Fix\x00 \x1b[201~\x1b]0;x\x07 it\x9b201~"

    issue = office.done("task_create", title=evil, description=f"{evil}\nline two")["issueId"]

    task = office.tracker.get(issue)
    assert not set("\x00\x1b\x07\x9b") & set(task.title + task.body)
    assert "line two" in task.body


def test_a_humans_control_characters_do_not_reach_the_worker(office: Office) -> None:
    evil = "\x1b[201~\nrm -rf /\n\x00\x9b201~"
    issue = office.seed(f"Fix {evil}", body=evil)
    office.tracker.human_comments(issue, evil)

    office.done("task_pickup", issueId=issue, role="dev", model="medior")

    told = office.task_file() + "".join(office.terminal.typed("shop-dev-medior"))
    assert not set("\x00\x1b\x9b") & set(told)
    assert "\n" not in office.terminal.typed("shop-dev-medior")[0]


def test_a_humans_megabyte_does_not_fill_the_workers_context(office: Office) -> None:
    issue = office.seed(body="x" * 1_000_000)

    office.done("task_pickup", issueId=issue, role="dev", model="medior")

    assert len(office.task_file()) < 100_000
    assert "left out" in office.task_file()


@pytest.mark.parametrize("tool", [tool for tool in NEEDED if tool not in ("project_register", "devclaw_setup")])
def test_an_unknown_project_is_refused_before_anything_else(office: Office, tool: str) -> None:
    arguments = {**NEEDED[tool], "projectGroupId": "-9"} | ({"autoChain": True} if tool == "project_update" else {})

    answer = raw(office, tool, arguments)

    assert answer["error"]["code"] == "unknown_project"
    assert "shop (-1001)" in answer["error"]["message"]


@pytest.mark.parametrize("group", ["-9", "--help", "../x", "a b", "🦀", "120363123@g.us", "agent:devclaw:group:-77"])
def test_any_chats_id_can_have_a_project(office: Office, group: str) -> None:
    registered = raw(office, "project_register", {**NEEDED["project_register"], "projectGroupId": group})
    created = raw(office, "task_create", {"projectGroupId": group, "title": "Post", "label": "To Do"})
    picked = raw(office, "task_pickup", {"projectGroupId": group, "role": "dev"})

    assert (registered["success"], created["success"], picked["success"]) == (True, True, True)
    assert list((office.app.workspace / "memory").parent.parent.glob("x*")) == []


@pytest.mark.parametrize("text", ["{ broken", "[]", '{"projects": []}', '{"projects": {"-1001": 5}}', "\x00", '"'])
@pytest.mark.parametrize("tool", [tool for tool in NEEDED if tool != "devclaw_setup"])
def test_a_registry_that_cannot_be_read_is_named_and_left_alone(office: Office, tool: str, text: str) -> None:
    office.seed()
    registry = office.app.workspace / "memory" / "projects.json"
    registry.write_text(text, encoding="utf-8")
    arguments = NEEDED[tool] | ({"autoChain": True} if tool == "project_update" else {})

    answer = raw(office, tool, {**arguments, "projectGroupId": "-3" if tool == "project_register" else GROUP})

    assert answer["error"]["code"] == "state_corrupt"
    assert str(registry) in answer["error"]["message"]
    assert registry.read_text(encoding="utf-8") == text


def test_a_registry_that_is_mended_works_again(office: Office) -> None:
    issue = office.doing()
    registry = office.app.workspace / "memory" / "projects.json"
    good = registry.read_text(encoding="utf-8")
    registry.write_text(good[:-20], encoding="utf-8")
    assert office.refused("task_complete", role="dev", result="done") == "state_corrupt"
    registry.write_text(good, encoding="utf-8")

    office.done("task_complete", role="dev", result="done")

    assert office.states(issue) == (State.TO_TEST,)


def test_two_workspaces_with_a_project_of_one_name_are_strangers(tmp_path: Path) -> None:
    one, two = make_office(tmp_path / "one"), make_office(tmp_path / "two")
    one.doing()

    assert not two.seat("dev").active
    assert two.tracker.list_all() == []
    assert two.done("queue_status")["projects"][0]["dev"]["active"] is False


def test_a_bug_is_an_answer_with_its_trace_on_stderr(office: Office, capsys: pytest.CaptureFixture[str]) -> None:
    office.work.desk = cast("Any", None)  # type: ignore[method-assign]  # the bug
    issue = office.seed()

    answer = office.call("task_pickup", issueId=issue, role="dev")

    assert answer["error"]["code"] == "internal"
    assert "Traceback" in capsys.readouterr().err
    assert office.states(issue) == (State.TO_DO,)


def test_a_bug_in_what_follows_does_not_hide_what_was_done(office: Office) -> None:
    office.change(auto_chain=True)
    issue = office.doing()
    office.work.prepare_qa = cast("Any", None)  # type: ignore[method-assign]  # the bug

    answer = office.done("task_complete", role="dev", result="done")

    assert "bug" in answer["warning"]
    assert office.states(issue) == (State.TO_TEST,)
