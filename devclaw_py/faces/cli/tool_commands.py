"""A command for every tool, made from its argument model: a new tool has its command by itself."""

from __future__ import annotations

import inspect
import os
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo
from rich.markup import escape

from devclaw_py import catalogue
from devclaw_py.errors import InvalidArguments
from devclaw_py.faces.cli.call import ask, exit_code
from devclaw_py.faces.cli.options import AsJson, Command, Workspace
from devclaw_py.faces.cli.output import present, working
from devclaw_py.faces.cli.words import json_line
from devclaw_py.faces.opening import open_workspace
from devclaw_py.tools.base import Tool

# Parameters that a command takes several times, one call each.
SEVERAL = {"task_update": "issue_id"}
PANEL = "Tools"


def add_tools(cli: typer.Typer) -> None:
    """Give the command line one command for each tool of the catalogue."""
    for tool in catalogue.TOOLS.values():
        decorate = cli.command(_dashed(tool.name), cls=Command, help=escape(tool.description), rich_help_panel=PANEL)
        decorate(command_of(tool))


def command_of(tool: Tool) -> Callable[..., None]:
    """Return the function behind a tool's command; its signature is made from the tool's arguments."""

    def command(*, workspace: str | None, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - the tool's own
        calls = arguments_of(tool, given)
        raise typer.Exit(call_each(tool, calls, workspace=workspace, as_json=as_json))

    sign(command, [*parameters(tool), *common()], name=tool.name)
    return command


def sign(function: Callable[..., None], wanted: Sequence[inspect.Parameter], *, name: str) -> None:
    """Give a function the signature that typer reads."""
    function.__name__ = name
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in wanted}
    # Typeshed does not know the attribute, which inspect documents.
    setattr(function, "__signature__", inspect.Signature(wanted))  # noqa: B010


def parameters(tool: Tool, *, without: Collection[str] = ()) -> Iterator[inspect.Parameter]:
    """Yield a parameter for each of the tool's arguments; what is given is checked at the door, not here."""
    for name, field in tool.args.model_fields.items():
        if name not in without:
            yield parameter(name, _option(name, field, several=SEVERAL.get(tool.name) == name), default=None)


def common() -> list[inspect.Parameter]:
    """Return the parameters that every tool's command has."""
    return [parameter("workspace", Workspace, default=None), parameter("as_json", AsJson, default=False)]


def arguments_of(tool: Tool, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the arguments of each call that was asked for, under their outside names.

    Raises:
        InvalidArguments: a KEY=VALUE has no ``=``.
    """
    arguments = {
        field.alias or name: _value(name, field, given[name])
        for name, field in tool.args.model_fields.items()
        if given.get(name) not in (None, [])
    }
    repeated = SEVERAL.get(tool.name)
    if repeated is None or not given.get(repeated):
        return [arguments]
    alias = tool.args.model_fields[repeated].alias or repeated
    return [arguments | {alias: one} for one in given[repeated]]


def call_each(tool: Tool, calls: Sequence[dict[str, Any]], *, workspace: str | None, as_json: bool) -> int:
    """Make the calls one after another, print what became of them, and return the first failure's exit code."""
    app = open_workspace(workspace, os.environ)
    answers = []
    for arguments in calls:
        with working(f"{_dashed(tool.name)} …"):
            answers.append(ask(app, tool.name, arguments))
    if as_json and len(answers) > 1:
        print(json_line({"success": all(answer["success"] for answer in answers), "results": answers}))
        codes = [exit_code(answer) for answer in answers]
    else:
        codes = [present(answer, as_json=as_json) for answer in answers]
    return next((code for code in codes if code), 0)


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def parameter(name: str, annotation: object, *, default: object = inspect.Parameter.empty) -> inspect.Parameter:
    """Return one parameter of a command; without a default it must be given."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _option(name: str, field: FieldInfo, *, several: bool) -> object:
    kind, words = _kind(field.annotation), f"--{_dashed(name)}"
    needed = " (required)" if field.is_required() else ""
    about = escape(f"{field.description or ''}{needed}")
    if kind is bool:
        return Annotated[bool | None, typer.Option(f"{words}/--no-{_dashed(name)}", help=about, show_default=False)]
    choices = _choices(kind)
    metavar = "|".join(choices) or ("KEY=VALUE" if get_origin(kind) is dict else "TEXT")
    option = typer.Option(
        words, help=about, metavar=metavar, show_default=False, autocompletion=_completion(choices) if choices else None
    )
    repeated = several or get_origin(kind) in (dict, tuple, list)
    return Annotated[list[str] | None, option] if repeated else Annotated[str | None, option]


def _kind(annotation: object) -> Any:  # noqa: ANN401 - a type, or what typing makes of several
    """Return what an annotation is about, without the words that say it may be left out."""
    if get_origin(annotation) is Annotated:
        return _kind(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        left = [part for part in get_args(annotation) if part is not type(None)]
        return _kind(left[0]) if len(left) == 1 else str
    return annotation


def _choices(kind: Any) -> list[str]:  # noqa: ANN401 - see _kind
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(member.value) for member in kind]
    return [str(word) for word in get_args(kind)] if get_origin(kind) is Literal else []


def _completion(choices: Sequence[str]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.lower().startswith(incomplete.lower())]

    return complete


def _value(name: str, field: FieldInfo, given: object) -> object:
    if get_origin(_kind(field.annotation)) is dict and isinstance(given, list):
        return dict(_pair(name, text) for text in given)
    return given


def _pair(name: str, text: str) -> tuple[str, str]:
    key, sign_found, value = text.partition("=")
    if not sign_found or not key:
        raise InvalidArguments(f"--{_dashed(name)} {text}: write KEY=VALUE, such as junior=anthropic/claude-haiku-4-5")
    return key, value
