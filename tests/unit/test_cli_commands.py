"""How a tool's command is made, and small forms of the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
import typer
from pydantic import Field
from rich.console import Console
from typer.testing import CliRunner

from devclaw_py import catalogue
from devclaw_py.app import App
from devclaw_py.errors import ConfigError, InvalidArguments
from devclaw_py.faces.cli import attach, leading_workspace
from devclaw_py.faces.cli.app import cli
from devclaw_py.faces.cli.options import Command, find_project
from devclaw_py.faces.cli.output import cell, present
from devclaw_py.faces.cli.status import age
from devclaw_py.faces.cli.tool_commands import arguments_of, command_of
from devclaw_py.faces.cli.words import json_line, told
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.project import Project
from devclaw_py.operations.steps import Call
from devclaw_py.tools.base import Answer, Tool, WritingArgs
from tests.conftest import Office


class NewArgs(WritingArgs):
    """Arguments of a tool that nobody has written a command for."""

    role: Role = Field(description="The role [of a kind].")
    loud: bool | None = Field(None, description="Whether.")
    names: tuple[str, ...] = Field((), description="Names.")
    models: dict[Tier, str] | None = Field(None, description="Models.")


def new_tool(app: App, call: Call, args: NewArgs) -> Answer:
    """Do what is new."""
    return {"success": True}


TOOL = Tool("new_tool", NewArgs, new_tool)


def shown(words: Sequence[str]) -> str:
    app = typer.Typer()
    app.command("new-tool", cls=Command)(command_of(TOOL))
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"}).output


@pytest.mark.parametrize(
    "part", ["--role", "dev|qa", "[of a kind]", "--loud", "--no-loud", "--names", "KEY=VALUE", "--request-id"]
)
def test_a_new_tool_has_its_command_by_itself(part: str) -> None:
    assert part in shown(["--help"])


@pytest.mark.parametrize("tool", catalogue.ALL, ids=lambda tool: tool.name)
def test_every_tool_has_a_command(tool: Tool) -> None:
    assert CliRunner().invoke(cli, [tool.name.replace("_", "-"), "--help"]).exit_code == 0


def test_arguments_have_their_outside_names_and_what_was_left_out_is_left_out() -> None:
    given = {"project_group_id": "-1", "role": "dev", "loud": False, "names": ["a"], "models": ["qa=x=y"]}

    assert arguments_of(TOOL, {**given, "request_id": None}) == [
        {"projectGroupId": "-1", "role": "dev", "loud": False, "names": ["a"], "models": {"qa": "x=y"}}
    ]


def test_a_pair_without_a_value_is_refused() -> None:
    with pytest.raises(InvalidArguments, match="KEY=VALUE"):
        arguments_of(TOOL, {"models": ["junior"]})


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["-1001"], "-1001|None"),
        (["-1001:topic:5", "--note", "-7"], "-1001:topic:5|-7"),
        (["--note=-7", "shop"], "shop|-7"),
        (["--", "-1"], "-1|None"),
    ],
)
def test_words_that_begin_with_a_dash_and_a_digit_are_no_options(words: list[str], found: str) -> None:
    app = typer.Typer()

    @app.command(cls=Command)
    def one(name: str, note: str | None = None) -> None:
        print(f"{name}|{note}")

    assert CliRunner().invoke(app, words).output.strip() == found


def test_an_unknown_option_beside_a_group_id_is_refused() -> None:
    app = typer.Typer()

    @app.command(cls=Command)
    def one(name: str) -> None:
        print(name)

    assert CliRunner().invoke(app, ["-1001", "--frob"]).exit_code == 2


@pytest.mark.parametrize(
    ("argv", "given", "words"),
    [
        (["call", "x"], [], ["call", "x"]),
        (["--workspace", "w", "call"], ["--workspace", "w"], ["call"]),
        (["--workspace=w", "call"], ["--workspace=w"], ["call"]),
        ([], [], []),
    ],
)
def test_a_workspace_in_front_is_taken_off(argv: list[str], given: list[str], words: list[str]) -> None:
    assert leading_workspace(argv) == (given, words)


def test_json_for_a_terminal_is_the_same_json() -> None:
    value = {"title": "\x9b1m \x7f \u202e \udc80 é 🔄"}

    line = json_line(value)

    assert json.loads(line) == value
    assert not {"\x9b", "\x7f", "\u202e", "\udc80"} & set(line)
    assert "é 🔄" in line


def test_what_the_machine_refused_is_an_error_that_names_the_file() -> None:
    error = told(PermissionError(13, "Permission denied", "/ws/memory"))

    assert isinstance(error, ConfigError)
    assert "/ws/memory: Permission denied" in str(error)


def test_a_cell_is_never_markup() -> None:
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115 - the recording is what counts

    console.print(cell("[bold]x[/bold] \x1b[31m"))
    console.file.close()

    assert console.export_text().strip() == "[bold]x[/bold] [31m"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(None, ""), (0, "0s"), (60, "1m"), (3599, "59m"), (7500, "2h05"), (90000, "1d01h")]
)
def test_an_age_is_short(seconds: int | None, shown: str) -> None:
    assert age(seconds) == shown


def test_a_failure_for_people_says_message_and_hint_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    answer = {"success": False, "error": {"code": "project_busy", "message": "held", "hint": "try again"}}

    assert present(answer, as_json=False) == 3

    said = capsys.readouterr()
    assert said.out == ""
    assert "held" in said.err
    assert "→ try again" in said.err


def test_a_success_tells_what_followed(capsys: pytest.CaptureFixture[str]) -> None:
    followed = {"issueId": 4, "role": "qa", "dispatched": False, "waiting": True, "reason": "qa is busy"}
    answer = {"success": True, "announcement": "done", "settled": ["x was settled"], "autoChain": followed}

    assert present(answer, as_json=False) == 0

    assert capsys.readouterr().out.splitlines() == [
        "done",
        "settled first: x was settled",
        "#4 for qa waits: qa is busy",
    ]


def test_what_the_announcement_has_told_is_not_told_again(capsys: pytest.CaptureFixture[str]) -> None:
    followed = {"announcement": "🔍 Sending QA\n🔗 file:///4\nWork was saved"}
    answer = {"success": True, "announcement": "✅ DEV done\n🔗 file:///4\n🔍 Sending QA", "autoChain": followed}

    present(answer, as_json=False)

    assert capsys.readouterr().out.splitlines() == ["✅ DEV done", "🔗 file:///4", "🔍 Sending QA", "Work was saved"]


def test_a_reason_that_the_announcement_has_told_is_not_told_again(capsys: pytest.CaptureFixture[str]) -> None:
    followed = {"issueId": 4, "role": "qa", "dispatched": False, "waiting": True, "reason": "qa is busy"}

    present({"success": True, "announcement": "⏳ QA follows later: qa is busy.", "autoChain": followed}, as_json=False)

    assert capsys.readouterr().out.splitlines() == ["⏳ QA follows later: qa is busy."]


@pytest.mark.parametrize("named", ["-1001", "my-shop", "My shop", "MY SHOP"])
def test_a_project_is_found_by_group_short_name_and_name(office: Office, named: str) -> None:
    registry = office.app.store.registry
    registry.remove("-1001")
    registry.add(Project(group_id="-1001", name="My shop", slug="my-shop", repo="/r"))

    assert find_project(registry, named).group_id == "-1001"


def test_attaching_is_read_only_unless_it_is_asked_for(office: Office) -> None:
    issue = office.seed()
    office.done("task_pickup", issueId=issue, role="dev", model="medior")
    plain = attach.command(office.app, "shop-dev-medior", write=False)

    assert attach.command(office.app, "shop-dev-medior", write=True) == [word for word in plain if word != "-r"]
